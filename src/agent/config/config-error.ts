import { CapstanError, markErrorClass } from '../../tool/errors.js'

/** One thing that is wrong with a configuration. `line` and `column` count from 1; what was given as an object has a path alone. */
export type ConfigProblem = {
  readonly message: string
  readonly path?: string
  readonly line?: number
  readonly column?: number
}

const maxShown = 20

/**
 * A configuration that cannot be used, with everything that is wrong with it. No message holds a value of the configuration: any of
 * them may be a secret.
 */
export class ConfigError extends CapstanError {
  readonly problems: readonly ConfigProblem[]
  /** Of the first problem. */
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

/** `line 3, column 5: what is wrong` */
export function placed(message: string, at?: { readonly line: number; readonly column: number }): string {
  return at === undefined ? message : `line ${at.line}, column ${at.column}: ${message}`
}

function describe(headline: string, problems: readonly ConfigProblem[]): string {
  const told = problems.slice(0, maxShown).map(tell)
  if (told.length === 0) return headline
  if (told.length === 1) return `${headline}: ${told[0]}`
  const rest = problems.length - told.length
  if (rest > 0) told.push(`and ${rest} more`)
  return `${headline}:\n${told.map((each) => `- ${each}`).join('\n')}`
}

function tell({ message, line, column }: ConfigProblem): string {
  return line === undefined || column === undefined ? message : placed(message, { line, column })
}
