/** The maximum number of bytes of a line that are shown; a longer line is cut around its match. */
const maxLineBytes = 1_000
const leadBytes = 200

/** The maximum number of bytes of a line that are searched for the match. Minified files have lines of megabytes. */
export const maxHeldBytes = 65_536

/** Returns the text of a line, without its end, cut around the match when it is long. `matchAt` is a byte offset. */
export function lineText(bytes: Buffer, matchAt: number): string {
  const held = bytes.length > maxHeldBytes ? bytes.subarray(0, maxHeldBytes) : bytes
  const line = withoutReturns(held)
  if (line.length <= maxLineBytes && held.length === bytes.length) return line.toString()
  const start = matchAt <= maxLineBytes - leadBytes || matchAt >= line.length ? 0 : matchAt - leadBytes
  const cut = line.subarray(start, start + maxLineBytes).toString()
  // The line can be cut inside a character.
  const text = cut.replace(/^\uFFFD+|\uFFFD+$/g, '')
  const more = start + maxLineBytes < line.length || held.length < bytes.length
  return `${start > 0 ? '…' : ''}${text}${more ? '…' : ''}`
}

/** Removes all of them: with --crlf, ripgrep ends its last line with one more than the file has. */
function withoutReturns(bytes: Buffer): Buffer {
  let end = bytes.length
  while (end > 0 && bytes[end - 1] === 0x0d) end -= 1
  return bytes.subarray(0, end)
}
