import { constants, lstatSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Returns the text of a file, or undefined if it does not exist. A link in place of the file, or of its directory, may
 * be an attack, because it could lead to a file that was confirmed elsewhere. Never reads more than `maxBytes`.
 */
export async function readIfThere(file: string, maxBytes: number): Promise<string | undefined> {
  try {
    for (const part of [dirname(file), file]) {
      // Synchronous, without another thread: every session calls this, and usually the file does not exist.
      const stat = lstatSync(part, { throwIfNoEntry: false })
      if (stat === undefined) return undefined
      if (stat.isSymbolicLink()) throw new Error('it is a symbolic link')
    }
    const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const { size } = await statFile(handle)
      if (size > maxBytes) throw tooLong(maxBytes)
      return await readAtMost(handle, size, maxBytes)
    } finally {
      await handle.close()
    }
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

async function statFile(handle: FileHandle): Promise<{ size: number }> {
  const stats = await handle.stat()
  if (!stats.isFile()) throw new Error('it is not a file')
  return stats
}

/** The reported size is only an estimate: the file may grow while it is read. */
async function readAtMost(handle: FileHandle, size: number, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = []
  let total = 0
  for (;;) {
    const chunk = Buffer.alloc(Math.max(4096, size + 1 - total))
    const { bytesRead } = await handle.read(chunk, 0, chunk.length, total)
    if (bytesRead === 0) return Buffer.concat(chunks).toString('utf8')
    chunks.push(chunk.subarray(0, bytesRead))
    total += bytesRead
    if (total > maxBytes) throw tooLong(maxBytes)
  }
}

function tooLong(maxBytes: number): Error {
  return new Error(`it is longer than ${maxBytes} bytes`)
}

function isMissing(error: unknown): boolean {
  const code = (error as { code?: unknown }).code
  return code === 'ENOENT' || code === 'ENOTDIR'
}
