import { messageOf } from '../tool/errors.js'
import { isRecord } from '../tool/json.js'

/**
 * Returns the problem with a value, or undefined for a valid one; `%` is replaced by the option's name. Each option is
 * one row of a table of these checks. A schema library would not shorten the table, and `import 'capstan'` would load
 * it.
 */
export type Check = (value: unknown) => string | undefined

export const is =
  (type: 'string' | 'boolean' | 'function'): Check =>
  (value) =>
    typeof value === type ? undefined : `% must be a ${type}, not ${describe(value)}.`
export const count =
  (least: number): Check =>
  (value) =>
    typeof value === 'number' && Number.isInteger(value) && value >= least
      ? undefined
      : `% must be a whole number of at least ${least}, not ${describe(value)}.`
export const between =
  (low: number, high: number): Check =>
  (value) =>
    typeof value === 'number' && value >= low && value <= high
      ? undefined
      : `% must be a number from ${low} to ${high}, not ${describe(value)}.`
export const oneOf =
  (...words: readonly string[]): Check =>
  (value) =>
    typeof value === 'string' && words.includes(value)
      ? undefined
      : `Invalid % ${quote(value)}. Must be one of: ${words.join(', ')}.`
export const object: Check = (value) =>
  typeof value === 'object' && !Array.isArray(value)
    ? undefined
    : `% must be an object, not ${describe(value)}.`
export const strings: Check = (value) =>
  Array.isArray(value) && value.every((one) => typeof one === 'string')
    ? undefined
    : `% must be a list of strings, not ${describe(value)}.`
export const list: Check = (value) =>
  Array.isArray(value) ? undefined : `% must be a list, not ${describe(value)}.`
export const each =
  (check: Check): Check =>
  (value) => {
    if (!Array.isArray(value)) return list(value)
    for (const [at, one] of value.entries()) {
      const problem = check(one)
      if (problem !== undefined) return problem.replace('%', `%[${at}]`)
    }
    return undefined
  }
/** A check that calls a parser and reports its error. */
export const readable =
  (read: (value: unknown) => void): Check =>
  (value) => {
    try {
      read(value)
      return undefined
    } catch (error) {
      return `%: ${messageOf(error)}`
    }
  }
export const both =
  (first: Check, second: Check): Check =>
  (value) =>
    first(value) ?? second(value)
/** An object with these methods. */
export const able =
  (...methods: readonly string[]): Check =>
  (value) => {
    const missing = methods.find((name) => !isRecord(value) || typeof value[name] !== 'function')
    return missing === undefined ? undefined : `% must have the method ${missing}().`
  }
export const either =
  (...some: readonly Check[]): Check =>
  (value) => {
    const problems = some.map((check) => check(value))
    return problems.includes(undefined) ? undefined : problems[0]
  }
export const fields =
  (known: Readonly<Record<string, Check>>): Check =>
  (value) => {
    const wrong = object(value)
    if (wrong !== undefined) return wrong
    for (const [name, inner] of Object.entries(value as object)) {
      if (inner === undefined || inner === null) continue
      const check = Object.hasOwn(known, name) ? known[name] : undefined
      if (check === undefined) return `%.${name} is not known. Known are: ${Object.keys(known).join(', ')}.`
      const problem = check(inner)
      if (problem !== undefined) return problem.replace('%', `%.${name}`)
    }
    return undefined
  }
/** The same check for each name in a list separated by spaces. */
export const all = (check: Check, names: string): Readonly<Record<string, Check>> =>
  Object.fromEntries(names.split(' ').map((name) => [name, check]))

/** Describes a value for an error message. Never quotes a string: a value in the wrong place may be a secret. */
export function describe(value: unknown): string {
  if (typeof value === 'string') return 'a string'
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return Array.isArray(value) ? 'a list' : `a value of type ${typeof value}`
}

/** Quotes a value for options that accept one of a few words: there the given word helps the reader. */
export function quote(value: unknown): string {
  return typeof value === 'string' && value.length <= 40 ? `'${value}'` : describe(value)
}
