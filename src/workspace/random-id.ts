import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

/**
 * Returns an id that cannot be guessed, a UUID of version 4. Its bytes are read from the random device of the system:
 * Node's own function first loads all of Node's cryptography, a fifth of the code that a program executes to open a
 * session.
 */
export function randomId(): string {
  if (used === pool.length && !fill()) {
    // Node concatenates the id from twenty strings, which V8 would keep as long as the id: ten times its size.
    return Buffer.from(crypto.randomUUID(), 'latin1').toString('latin1')
  }
  const start = used
  used += idBytes
  let place = 0
  for (let index = 0; index < idBytes; index++) {
    if (index === 4 || index === 6 || index === 8 || index === 10) text[place++] = dash
    const byte = marked(index, pool[start + index] ?? 0)
    text[place++] = digits.charCodeAt(byte >> 4)
    text[place++] = digits.charCodeAt(byte & 15)
  }
  return text.toString('latin1')
}

const idBytes = 16
const digits = '0123456789abcdef'
const dash = 45
/** Random bytes for the next ids: one read of the device is enough for 64. */
const pool = Buffer.alloc(64 * idBytes)
let used = pool.length
const text = Buffer.alloc(36)

/** Sets the bits for the version and the variant of the id. */
function marked(index: number, byte: number): number {
  if (index === 6) return (byte & 0x0f) | 0x40
  return index === 8 ? (byte & 0x3f) | 0x80 : byte
}

/** Returns false on systems without this device. */
function fill(): boolean {
  let fd: number | undefined
  try {
    fd = openSync('/dev/urandom', 'r')
    if (!fstatSync(fd).isCharacterDevice() || readSync(fd, pool, 0, pool.length, null) !== pool.length)
      return false
    used = 0
    return true
  } catch {
    return false
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}
