import { createHash } from 'node:crypto'
import type { FileContent } from '../../tool/runtime.js'
import { FileAbortedError, FileTooLargeError } from './errors.js'
import { type OpenEntry, type OpenFile, openRegular } from './open-entry.js'
import { versionBytes } from './version.js'

export type ReadLimits = { readonly maxBytes: number; readonly signal?: AbortSignal | undefined }

/** Reads a whole file. The version is that of the returned bytes, even if the file changes in the meantime. */
export async function readWhole(entry: OpenEntry, limits: ReadLimits): Promise<FileContent> {
  const file = await openRegular(entry)
  try {
    refuseLarge(entry.asWritten, file.stat.size, limits.maxBytes)
    const bytes = await readToEnd(file, file.stat.size, entry.asWritten, limits)
    return { bytes, size: bytes.length, version: digest(createHash('sha256').update(bytes)) }
  } finally {
    file.close()
  }
}

/** Reads the bytes from `start` to `end`, fewer if the file ends earlier. Only these bytes are held in memory. */
export async function readSlice(
  entry: OpenEntry,
  start: number,
  end: number,
  limits: ReadLimits,
): Promise<Uint8Array> {
  const file = await openRegular(entry)
  try {
    const length = Math.max(0, Math.min(end, file.stat.size) - start)
    if (length > limits.maxBytes)
      throw new FileTooLargeError(entry.asWritten, length, limits.maxBytes, readLess)
    const bytes = new Uint8Array(length)
    let filled = 0
    while (filled < length) {
      stopIfAborted(limits.signal, entry.asWritten)
      const bytesRead = await file.read(bytes, filled, Math.min(chunkBytes, length - filled), start + filled)
      if (bytesRead === 0) break
      filled += bytesRead
    }
    return bytes.subarray(0, filled)
  } finally {
    file.close()
  }
}

/** Returns the version of a file. Memory use does not depend on the size of the file. */
export async function versionAt(entry: OpenEntry): Promise<string> {
  const file = await openRegular(entry)
  try {
    const hash = createHash('sha256')
    const chunk = new Uint8Array(chunkBytes)
    for (;;) {
      const bytesRead = await file.read(chunk, 0, chunk.length, null)
      if (bytesRead === 0) return digest(hash)
      hash.update(chunk.subarray(0, bytesRead))
    }
  } finally {
    file.close()
  }
}

export function stopIfAborted(signal: AbortSignal | undefined, path: string): void {
  if (signal?.aborted) throw new FileAbortedError(path)
}

export const chunkBytes = 1024 * 1024
const readLess = 'Read a part of it by its range.'

/** Reads until the actual end of the file: it may have grown, and some files do not report their size. */
async function readToEnd(
  file: OpenFile,
  size: number,
  path: string,
  limits: ReadLimits,
): Promise<Uint8Array> {
  let bytes = new Uint8Array(size + 1)
  let filled = 0
  for (;;) {
    stopIfAborted(limits.signal, path)
    const bytesRead = await file.read(bytes, filled, Math.min(chunkBytes, bytes.length - filled), null)
    if (bytesRead === 0) return bytes.subarray(0, filled)
    filled += bytesRead
    refuseLarge(path, filled > size ? undefined : filled, limits.maxBytes, filled)
    if (filled === bytes.length) {
      const wider = new Uint8Array(Math.min(bytes.length * 2, limits.maxBytes) + 1)
      wider.set(bytes)
      bytes = wider
    }
  }
}

function refuseLarge(path: string, shown: number | undefined, limit: number, size = shown ?? 0): void {
  if (size > limit) throw new FileTooLargeError(path, shown, limit, readLess)
}

function digest(hash: ReturnType<typeof createHash>): string {
  return hash.digest('hex').slice(0, versionBytes * 2)
}
