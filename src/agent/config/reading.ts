import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { nearestNames, quoteNames } from '../../tool/nearest.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import type { Span, Value } from './acl/ast.js'
import { type ConfigProblem, placed } from './config-error.js'

export type Environment = Readonly<Record<string, string | undefined>>

/** The path of a field, and its position in the text if the configuration is text. */
export type Spot = { readonly path: string; readonly span?: Span }

/** The context of reading a configuration: evaluates calls and paths, and collects problems and warnings. */
export type Reading = {
  readonly problems: ConfigProblem[]
  readonly warnings: string[]
  fail(spot: Spot, message: string): void
  /** A message given as a function is only computed if the warning is recorded. */
  warn(spot: Spot, message: string | (() => string)): void
  /** The value of a call; undefined, with a problem or warning, if it has none. */
  evaluate(call: Value & { type: 'call' }, spot: Spot): Value | undefined
  /** Resolves a path to an absolute one. */
  resolvePath(path: string): string
}

/**
 * The maximum number of problems and warnings. Thousands of them have one cause, or the input is not a configuration.
 */
const maxKept = 100

export function startReading(env: Environment, directory: string): Reading {
  const problems: ConfigProblem[] = []
  const warnings: string[] = []
  const fail = ({ path, span }: Spot, message: string): void => {
    const at = span === undefined ? {} : { line: span.line, column: span.column }
    if (problems.length < maxKept) problems.push({ message, ...(path === '' ? {} : { path }), ...at })
  }
  const warn = ({ span }: Spot, message: string | (() => string)): void => {
    if (warnings.length === maxKept) warnings.push('more warnings are not shown')
    if (warnings.length > maxKept) return
    warnings.push(placed(typeof message === 'string' ? message : message(), span))
  }
  return {
    problems,
    warnings,
    fail,
    warn,
    evaluate(call, spot) {
      const at = call.span === undefined ? spot : { ...spot, span: call.span }
      const name = call.args[0]
      if (call.name !== 'env') {
        fail(
          at,
          `${spot.path} calls ${describeCall(call.name)}: env("NAME") is the only function${meant(call.name)}`,
        )
      } else if (name?.type !== 'text' || name.value === '' || call.args.length !== 1) {
        fail(at, `${spot.path} calls env without one name in quotes: write env("NAME")`)
      } else {
        const value = Object.hasOwn(env, name.value) ? env[name.value] : undefined
        if (value !== undefined && value !== '')
          return { type: 'text', value, ...omitUndefined({ span: call.span }) }
        warn(at, `${spot.path} has no value: the environment variable of env() is not set or empty`)
      }
      return undefined
    },
    resolvePath(path) {
      if (/^file:/i.test(path)) return fileURLToPath(path)
      if (path === '~' || path.startsWith('~/')) return resolve(env['HOME'] || homedir(), path.slice(2))
      return resolve(directory, path)
    },
  }
}

function describeCall(name: string): string {
  return isSayable(name) ? `"${name}"` : 'something else'
}

function meant(name: string): string {
  return nearestNames(name, ['env']).length > 0 ? '; did you mean "env"?' : ''
}

/** The warning about an unknown field. */
export function describeUnknown(name: string, spot: Spot, known: readonly string[]): string {
  const inside = spot.path === '' ? '' : ` in ${spot.path}`
  const shown = isSayable(name) || spot.span === undefined ? ` "${name.slice(0, 60)}"` : ''
  const near = nearestNames(name, spelledLike(name, spot, known))
  return `unknown field${shown}${inside} is ignored${near.length > 0 ? `; did you mean ${quoteNames(near)}?` : ''}`
}

/** Filters known names to one spelling each: the style that the user used (camelCase or snake_case). */
function spelledLike(name: string, { span }: Spot, known: readonly string[]): string[] {
  const other = span === undefined || /[A-Z]/.test(name) ? /_/ : /[A-Z]/
  return known.filter((each) => !other.test(each))
}

/**
 * Whether a name from the text can be shown in a message. A misplaced quotation mark turns the inside of a string,
 * which can be a key, into names, so only names that look like words are shown.
 */
function isSayable(name: string): boolean {
  return name.length <= 40 && /^[a-z]+(?:[A-Z_][a-z]+)*$/.test(name)
}
