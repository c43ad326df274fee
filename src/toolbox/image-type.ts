/** Returns the media type of an image that models accept, by its first bytes, because a file name can be wrong. */
export function imageType(head: Uint8Array): string | undefined {
  if (startsWith(head, png)) return 'image/png'
  if (startsWith(head, jpeg)) return 'image/jpeg'
  if (startsWith(head, gif87) || startsWith(head, gif89)) return 'image/gif'
  if (startsWith(head, riff) && startsWith(head, webp, 8)) return 'image/webp'
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

const png = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
const jpeg = [0xff, 0xd8, 0xff]
const gif87 = ascii('GIF87a')
const gif89 = ascii('GIF89a')
const riff = ascii('RIFF')
const webp = ascii('WEBP')
