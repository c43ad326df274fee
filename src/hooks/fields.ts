import { isRecord } from '../tool/json.js'
import { nearestNames, quoteNames } from '../tool/nearest.js'
import { HookError } from './errors.js'

type FieldKind = 'string' | 'pattern' | 'boolean' | 'number'

const kindWords: Readonly<Record<FieldKind, string>> = {
  string: 'a string that is not empty',
  pattern: 'a regular expression, as text or RegExp',
  boolean: 'true or false',
  number: 'a finite number',
}

/**
 * Checks that every field of a settings object is known and of the right type: a misspelt guard would have another
 * effect.
 */
export function checkFields<Fields extends object>(
  what: string,
  value: unknown,
  fields: Readonly<Record<keyof Fields & string, FieldKind>>,
): Fields {
  if (value === undefined || value === null) return {} as Fields
  if (!isRecord(value)) throw new HookError(`${what} must be an object, or left out`)
  const known: Readonly<Record<string, FieldKind | undefined>> = fields
  for (const [name, member] of Object.entries(value)) {
    const kind = Object.hasOwn(known, name) ? known[name] : undefined
    if (kind === undefined) throw new HookError(unknownField(what, name, Object.keys(fields)))
    if (member !== undefined && member !== null && !isOfKind(kind, member))
      throw new HookError(`${what}.${name} must be ${kindWords[kind]}`)
  }
  const given = Object.entries(value).filter(([, member]) => member !== undefined && member !== null)
  return Object.fromEntries(given) as Fields
}

function unknownField(what: string, name: string, known: readonly string[]): string {
  const near = nearestNames(name, known)
  const hint = near.length > 0 ? `Did you mean ${quoteNames(near)}?` : `Known: ${known.join(', ')}.`
  return `${what}.${name} is not known. ${hint}`
}

function isOfKind(kind: FieldKind, value: unknown): boolean {
  if (kind === 'string') return typeof value === 'string' && value !== ''
  if (kind === 'pattern') return typeof value === 'string' || value instanceof RegExp
  if (kind === 'number') return Number.isFinite(value)
  return typeof value === 'boolean'
}
