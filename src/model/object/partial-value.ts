import { Allow, parse } from 'partial-json'
import { isRecord } from '../../tool/json.js'
import { parseJsonText } from '../../tool/json-text.js'
import { jsonStart } from './json-start.js'

/** Returns the part of the object that a text contains; undefined when it contains nothing yet. */
export function partialIn(text: string, wrapped: boolean): { readonly value: unknown } | undefined {
  const start = jsonStart(text)
  if (start === undefined) return undefined
  const parsed: unknown = parse(text.slice(start), Allow.STR | Allow.OBJ | Allow.ARR)
  // The parser assigns keys, so a key such as `__proto__` would reach the prototype. Serializing and parsing again
  // prevents that.
  const value = parseJsonText(JSON.stringify(parsed))
  if (!wrapped || !isRecord(value)) return { value }
  return Object.hasOwn(value, 'value') ? { value: value['value'] } : undefined
}
