/** A file's version: the first 128 bits of the SHA-256 of its content, in hex. Equal content, equal version. */
export async function versionOf(bytes: Uint8Array): Promise<string> {
  const digest = await globalThis.crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>)
  return Array.from(new Uint8Array(digest, 0, versionBytes), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('')
}

export const versionBytes = 16
