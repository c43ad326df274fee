import { createHash } from 'node:crypto'

/** Returns a file's version, equal for equal content: the first 128 bits of the SHA-256 of the content, in hex. */
export async function versionOf(bytes: Uint8Array): Promise<string> {
  // Hashing a small file takes less time than passing it to another thread.
  if (bytes.length <= smallSize)
    return createHash('sha256')
      .update(bytes)
      .digest('hex')
      .slice(0, versionBytes * 2)
  const digest = await globalThis.crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>)
  return Buffer.from(digest, 0, versionBytes).toString('hex')
}

export const versionBytes = 16
const smallSize = 65_536
