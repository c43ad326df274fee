import { isFineAsJson, redactValue } from '../../feature/redact-value.js'

/** Long texts are in the messages, which save them next to the log; other records have only their beginning. */
const longest = 4096

/** Whether a text that `shorten` wrote is all of it. */
export function isWhole(text: string): boolean {
  return text.length <= longest
}

/** The same value with its long texts cut. */
export function shorten<Value>(value: Value): Value {
  // Most values are short as a whole.
  return isFineAsJson(value, isWhole) ? value : redactValue(value, cut)
}

function cut(text: string): string {
  return isWhole(text) ? text : `${text.slice(0, longest)}… [${text.length - longest} more characters]`
}
