/**
 * Returns where the JSON of a text begins: at its first bracket, after reasoning that a model wrote into its text.
 * Undefined while it has not begun.
 */
export function jsonStart(text: string): number | undefined {
  let from = 0
  if (/^\s*<think>/.test(text)) {
    const end = text.indexOf('</think>')
    if (end === -1) return undefined
    from = end + '</think>'.length
  }
  const found = text.slice(from).search(/[{[]/)
  return found === -1 ? undefined : from + found
}
