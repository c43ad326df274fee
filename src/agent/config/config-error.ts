import { CapstanError, markErrorClass } from '../../tool/errors.js'

/** A problem of a configuration. `line` and `column` start at 1; a configuration that is an object has only a path. */
export type ConfigProblem = {
  readonly message: string
  readonly path?: string
  readonly line?: number
  readonly column?: number
}

const maxShown = 20

/**
 * An invalid configuration, with all its problems. Messages contain no values of the configuration, because any value
 * can be a secret.
 */
export class ConfigError extends CapstanError {
  readonly problems: readonly ConfigProblem[]
  /** The line of the first problem. */
  readonly line?: number
  readonly column?: number

  constructor(headline: string, problems: readonly ConfigProblem[] = [], options?: { cause?: unknown }) {
    const sorted = problems.toSorted(byPlace)
    super('config_error', describe(headline, sorted), options)
    this.problems = sorted
    const [first] = sorted
    if (first?.line !== undefined) this.line = first.line
    if (first?.column !== undefined) this.column = first.column
  }
}

markErrorClass(ConfigError, 'ConfigError')

function byPlace(a: ConfigProblem, b: ConfigProblem): number {
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0)
}

/** Formats a message with its position: `line 3, column 5: what is wrong`. */
export function placed(message: string, at?: { readonly line: number; readonly column: number }): string {
  return at === undefined ? message : `line ${at.line}, column ${at.column}: ${message}`
}

function describe(headline: string, problems: readonly ConfigProblem[]): string {
  const shown = problems.slice(0, maxShown).map(withPosition)
  if (shown.length === 0) return headline
  if (shown.length === 1) return `${headline}: ${shown[0]}`
  const rest = problems.length - shown.length
  if (rest > 0) shown.push(`and ${rest} more`)
  return `${headline}:\n${shown.map((each) => `- ${each}`).join('\n')}`
}

function withPosition({ message, line, column }: ConfigProblem): string {
  return line === undefined || column === undefined ? message : placed(message, { line, column })
}
