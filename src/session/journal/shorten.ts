import { isRecord } from '../../tool/json.js'

/** Long texts are in the messages, which save them next to the log; other records have only their beginning. */
const longest = 4096

/** Whether a text that `shorten` wrote is all of it. */
export function isWhole(text: string): boolean {
  return text.length <= longest
}

/** The same value with its long texts cut. */
export function shorten<Value>(value: Value): Value {
  return cut(value) as Value
}

function cut(value: unknown): unknown {
  if (typeof value === 'string')
    return value.length <= longest
      ? value
      : `${value.slice(0, longest)}… [${value.length - longest} more characters]`
  if (Array.isArray(value)) return unchanged(value, value.map(cut))
  if (!isRecord(value)) return value
  const values = Object.values(value)
  const next = values.map(cut)
  if (unchanged(values, next) === values) return value
  return Object.fromEntries(Object.keys(value).map((key, at) => [key, next[at]]))
}

function unchanged(before: unknown[], after: unknown[]): unknown[] {
  return before.every((one, at) => one === after[at]) ? before : after
}
