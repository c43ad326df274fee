import { createHash, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { StoreError } from '../errors.js'
import { createNew, errnoOf, type FileLayer, readOnly, readWrite, writeAll } from './file-layer.js'

const blobsName = 'blobs'

export function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/**
 * Writes bytes to a file named by their digest and returns its path, or undefined when the file exists. Not synced to
 * disk: see `syncBlobs`.
 */
export function keepBlob(
  files: FileLayer,
  directory: string,
  digest: string,
  bytes: Uint8Array,
): string | undefined {
  const blobs = join(directory, blobsName)
  const path = join(blobs, digest)
  if (isWhole(files, path, digest, bytes.length)) return undefined
  files.makeDirectory(blobs)
  const draft = join(blobs, `.${randomBytes(9).toString('hex')}`)
  const fd = files.open(draft, createNew)
  try {
    writeAll(files, fd, bytes, 0)
    files.rename(draft, path)
  } catch (error) {
    if (files.factsAt(draft) !== undefined) files.unlink(draft)
    throw error
  } finally {
    files.close(fd)
  }
  return path
}

/** Syncs blobs and their names to disk. Must finish before the log that refers to them is synced. */
export async function syncBlobs(
  files: FileLayer,
  directory: string,
  paths: readonly string[],
): Promise<void> {
  if (paths.length === 0) return
  for (const path of paths) {
    const fd = files.open(path, readWrite)
    try {
      await files.sync(fd)
    } finally {
      files.close(fd)
    }
  }
  await files.syncDirectory(join(directory, blobsName))
  await files.syncDirectory(directory)
}

/**
 * Returns the bytes of a digest; undefined when there is no such file. Throws when the bytes do not have that digest.
 */
export function readBlobFile(files: FileLayer, directory: string, digest: string): Uint8Array | undefined {
  if (!/^[0-9a-f]{64}$/.test(digest)) return undefined
  const bytes = readWhole(files, join(directory, blobsName, digest))
  if (bytes === undefined || digestOf(bytes) === digest) return bytes
  throw new StoreError(
    'store_damaged',
    `The content ${digest} is damaged: its bytes no longer have that digest. Restore it from a backup.`,
  )
}

/**
 * Returns whether a blob is complete. One that a crash left half written, or that was damaged since, is written
 * again.
 */
function isWhole(files: FileLayer, path: string, digest: string, size: number): boolean {
  if (files.factsAt(path)?.size !== size) return false
  const bytes = readWhole(files, path)
  return bytes !== undefined && digestOf(bytes) === digest
}

/** Reads a whole file; undefined when there is none. */
export function readWhole(files: FileLayer, path: string): Uint8Array | undefined {
  let fd: number
  try {
    fd = files.open(path, readOnly)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return undefined
    throw error
  }
  try {
    const bytes = Buffer.alloc(files.facts(fd).size)
    let held = 0
    while (held < bytes.length) {
      const got = files.read(fd, bytes, held, bytes.length - held, held)
      if (got === 0) break
      held += got
    }
    return new Uint8Array(bytes.buffer, bytes.byteOffset, held)
  } finally {
    files.close(fd)
  }
}
