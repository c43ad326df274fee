import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { nearestNames, quoteNames } from '../../tool/nearest.js'
import type { Span, Value } from './acl/ast.js'
import { type ConfigProblem, placed } from './config-error.js'

export type Environment = Readonly<Record<string, string | undefined>>

/** Where a reader stands: the path of the field, and its place in the text when there is one. */
export type Spot = { readonly path: string; readonly span?: Span }

/** One reading of a configuration: what readers may ask, and where they put what they find. */
export type Reading = {
  readonly problems: ConfigProblem[]
  readonly warnings: string[]
  fail(spot: Spot, message: string): void
  /** The words are made only when they are kept. */
  warn(spot: Spot, message: string | (() => string)): void
  /** The value behind a call; undefined (and told) when there is none. */
  evaluate(call: Value & { type: 'call' }, spot: Spot): Value | undefined
  /** A path as an absolute one. */
  resolvePath(path: string): string
}

/** What goes wrong thousands of times is one mistake, or no configuration at all. */
const maxKept = 100

export function startReading(env: Environment, directory: string): Reading {
  const problems: ConfigProblem[] = []
  const warnings: string[] = []
  const fail = ({ path, span }: Spot, message: string): void => {
    const at = span === undefined ? {} : { line: span.line, column: span.column }
    if (problems.length < maxKept) problems.push({ message, ...(path === '' ? {} : { path }), ...at })
  }
  const warn = ({ span }: Spot, message: string | (() => string)): void => {
    if (warnings.length === maxKept) warnings.push('there are more warnings, which are left out')
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
          `${spot.path} calls ${describeCall(call.name)}: env("NAME") is the only call there is${meant(call.name)}`,
        )
      } else if (name?.type !== 'text' || name.value === '' || call.args.length !== 1) {
        fail(at, `${spot.path} calls env without one name in quotes: write env("NAME")`)
      } else {
        const value = Object.hasOwn(env, name.value) ? env[name.value] : undefined
        if (value !== undefined && value !== '')
          return { type: 'text', value, ...(call.span && { span: call.span }) }
        warn(
          at,
          `${spot.path} is left without a value: the variable that env() names here is not set, or empty`,
        )
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

/** The sentence for a field that no table holds. */
export function describeUnknown(name: string, spot: Spot, known: readonly string[]): string {
  const inside = spot.path === '' ? '' : ` in ${spot.path}`
  const said = isSayable(name) || spot.span === undefined ? ` "${name.slice(0, 60)}"` : ''
  const near = nearestNames(name, spelledLike(name, spot, known))
  return `unknown field${said}${inside}, which is ignored${near.length > 0 ? `; did you mean ${quoteNames(near)}?` : ''}`
}

/** One spelling of each name, the one that was tried. */
function spelledLike(name: string, { span }: Spot, known: readonly string[]): string[] {
  const other = span === undefined || /[A-Z]/.test(name) ? /_/ : /[A-Z]/
  return known.filter((each) => !other.test(each))
}

/**
 * Whether a word of a text may be repeated in a message. Quotation marks that went astray turn the inside of a text, which may be a
 * key, into names: only what looks like a word of a language is said.
 */
function isSayable(name: string): boolean {
  return name.length <= 40 && /^[a-z]+(?:[A-Z_][a-z]+)*$/.test(name)
}
