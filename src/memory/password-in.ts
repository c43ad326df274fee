/**
 * Whether a text names a password: in an address, or as the value of something that is called one. Keys are known by
 * their form wherever they are; a password has none, and is recognized by the text before it. Both expressions take
 * time linear in the text.
 */
export function hasPassword(text: string): boolean {
  return [inAddress, asValue].some((pattern) =>
    [...text.matchAll(pattern)].some(([, value = '']) => !isStandIn(value)),
  )
}

const inAddress = /:\/\/[^\s/:@"'<>]{0,100}:([^\s/@"'<>]{1,200})@/g
const asValue =
  /(?:password|passwd|passphrase|secret|token|api[_-]?key)["']?\s{0,3}[:=]\s{0,3}["']?((?=[^\s"',;]{0,200}\d)(?=[^\s"',;]{0,200}[A-Za-z])[^\s"',;]{6,200})/gi

/** What people write where a password would be: a variable, a mark, or the word itself. */
function isStandIn(value: string): boolean {
  return /^[$%<{[(]|^(.)\1*$|^(?:pass(?:word)?|pw|secret)$|^(?:process\.|os\.|env\.)|\(/i.test(value)
}
