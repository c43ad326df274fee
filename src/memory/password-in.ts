/**
 * Whether a text contains a password: in a URL, or as the value of something that is named so. Keys are recognized by
 * their form; a password has none, and is recognized by the text before it. Both expressions take time linear in the
 * length of the text.
 */
export function hasPassword(text: string): boolean {
  return [inAddress, asValue].some((pattern) =>
    [...text.matchAll(pattern)].some(([, value = '']) => !isStandIn(value)),
  )
}

const inAddress = /:\/\/[^\s/:@"'<>]{0,100}:([^\s/@"'<>]{1,200})@/g
const asValue =
  /(?:password|passwd|passphrase|secret|token|api[_-]?key)["']?\s{0,3}[:=]\s{0,3}["']?((?=[^\s"',;]{0,200}\d)(?=[^\s"',;]{0,200}[A-Za-z])[^\s"',;]{6,200})/gi

/** Whether a value is a placeholder for a password: a variable, a mask, or the word itself. */
function isStandIn(value: string): boolean {
  return /^[$%<{[(]|^(.)\1*$|^(?:pass(?:word)?|pw|secret)$|^(?:process\.|os\.|env\.)|\(/i.test(value)
}
