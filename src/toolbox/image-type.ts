/** The media type of an image that models take, by its first bytes; a name can lie. */
export function imageType(head: Uint8Array): string | undefined {
  if (startsWith(head, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])) return 'image/png'
  if (startsWith(head, [0xff, 0xd8, 0xff])) return 'image/jpeg'
  if (startsWith(head, ascii('GIF87a')) || startsWith(head, ascii('GIF89a'))) return 'image/gif'
  if (startsWith(head, ascii('RIFF')) && startsWith(head, ascii('WEBP'), 8)) return 'image/webp'
  return undefined
}

export function startsWith(bytes: Uint8Array, start: ArrayLike<number>, at = 0): boolean {
  if (bytes.length < at + start.length) return false
  for (let index = 0; index < start.length; index++) {
    if (bytes[at + index] !== start[index]) return false
  }
  return true
}

export function ascii(text: string): number[] {
  return Array.from(text, (character) => character.charCodeAt(0))
}
