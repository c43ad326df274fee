/** Returns the beginning of a text, as whole characters of at most this many bytes; undefined when all of it fits. */
export function headOf(text: string, maxBytes: number): string | undefined {
  // A UTF-16 unit takes at most three bytes.
  if (text.length * 3 <= maxBytes) return undefined
  const bytes = Buffer.from(text)
  if (bytes.length <= maxBytes) return undefined
  let end = maxBytes
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return bytes.toString('utf8', 0, end)
}

/** Returns the first entries whose JSON takes at most this many bytes together. */
export function headOfList(entries: readonly string[], maxBytes: number): readonly string[] {
  let bytes = 2
  const end = entries.findIndex((entry) => {
    bytes += Buffer.byteLength(entry) + 3
    return bytes > maxBytes
  })
  return end < 0 ? entries : entries.slice(0, end)
}
