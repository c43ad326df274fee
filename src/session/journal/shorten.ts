import { jsonIfFine, redactValue } from '../../feature/redact-value.js'
import { maxJsonLength } from '../../tool/json-length.js'

/**
 * The maximum length of texts. Longer ones are in the messages, which save them next to the log; other records have
 * only their beginning.
 */
const longest = 4096

/** Whether a text written by `shorten` is complete. */
export function isWhole(text: string): boolean {
  return text.length <= longest
}

/** Returns the value with its long texts cut off. */
export function shorten<Value>(value: Value): Value {
  // Most values have no long text at all.
  if (maxJsonLength(value, longest) < Number.POSITIVE_INFINITY) return value
  return jsonIfFine([value], isWhole) === undefined ? redactValue(value, cut) : value
}

function cut(text: string): string {
  return isWhole(text) ? text : `${text.slice(0, longest)}… [${text.length - longest} more characters]`
}
