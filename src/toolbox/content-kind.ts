import { ascii, imageType, startsWith } from './image-type.js'

/** The kind of a file, determined from its first bytes. */
export type ContentKind =
  | { readonly kind: 'utf8'; readonly bomBytes: 0 | 3 }
  | { readonly kind: 'utf16'; readonly label: 'utf-16le' | 'utf-16be' }
  | { readonly kind: 'image'; readonly mediaType: string }
  | { readonly kind: 'binary'; readonly name: string }

export function contentKind(head: Uint8Array): ContentKind {
  const mediaType = imageType(head)
  if (mediaType !== undefined) return { kind: 'image', mediaType }
  const name = magic.find(([start, at]) => startsWith(head, start, at))?.[2]
  if (name !== undefined) return { kind: 'binary', name }
  if (startsWith(head, [0xff, 0xfe])) return { kind: 'utf16', label: 'utf-16le' }
  if (startsWith(head, [0xfe, 0xff])) return { kind: 'utf16', label: 'utf-16be' }
  if (looksBinary(head)) return { kind: 'binary', name: 'data' }
  return { kind: 'utf8', bomBytes: startsWith(head, utf8Bom) ? 3 : 0 }
}

const utf8Bom = [0xef, 0xbb, 0xbf]

/** Formats whose beginning may look like text, or whose name helps to choose another tool. */
const magic: readonly (readonly [start: readonly number[], at: number, name: string])[] = [
  [ascii('%PDF-'), 0, 'PDF document'],
  [[0x7f, ...ascii('ELF')], 0, 'ELF executable or library'],
  [[0x4d, 0x5a, 0x90, 0], 0, 'Windows executable'],
  [[0xcf, 0xfa, 0xed, 0xfe], 0, 'Mach-O executable'],
  [[0xca, 0xfe, 0xba, 0xbe], 0, 'Java class or Mach-O executable'],
  [[0, ...ascii('asm')], 0, 'WebAssembly module'],
  [ascii('PK\x03\x04'), 0, 'ZIP archive (also: Office document, JAR)'],
  [ascii('PK\x05\x06'), 0, 'ZIP archive'],
  [[0x1f, 0x8b], 0, 'gzip data'],
  [ascii('BZh91AY'), 0, 'bzip2 data'],
  [[0xfd, ...ascii('7zXZ')], 0, 'xz data'],
  [[0x28, 0xb5, 0x2f, 0xfd], 0, 'Zstandard data'],
  [[0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c], 0, '7z archive'],
  [ascii('ustar'), 257, 'tar archive'],
  [ascii('SQLite format 3\0'), 0, 'SQLite database'],
  [ascii('wOFF'), 0, 'font'],
  [ascii('wOF2'), 0, 'font'],
  [ascii('OggS'), 0, 'Ogg media'],
  [ascii('ID3\x03'), 0, 'MP3 audio'],
  [ascii('ftyp'), 4, 'MP4 media or HEIF image'],
  [ascii('II*\0'), 0, 'TIFF image'],
  [ascii('MM\0*'), 0, 'TIFF image'],
  [[0xff, 0xfe, 0, 0], 0, 'UTF-32 text'],
  [[0, 0, 0xfe, 0xff], 0, 'UTF-32 text'],
]

const sampled = 8192

/** Text contains no NUL byte, and text that a person wrote has few control characters. */
function looksBinary(head: Uint8Array): boolean {
  const sample = head.subarray(0, sampled)
  if (sample.includes(0)) return true
  let controls = 0
  for (const byte of sample) if (byte < 32 && !textControls.has(byte)) controls++
  return controls > sample.length / 10
}

/** Bell, backspace, tab, line feed, form feed, carriage return, escape: they occur in logs and terminal output. */
const textControls: ReadonlySet<number> = new Set([7, 8, 9, 10, 12, 13, 27])
