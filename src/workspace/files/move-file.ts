import { constants } from 'node:fs'
import { type FileHandle, open, rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { type Access, authorise, refuseCarrying } from './access.js'
import { rootOfReal } from './contained-path.js'
import { DirectoryTooLargeError, FileExistsError, FileNotFoundError, FileSystemError } from './errors.js'
import { entriesOf } from './list-directory.js'
import { openDirectory } from './open-directory.js'
import { type OpenEntry, type OpenFile, openRegular } from './open-entry.js'
import { chunkBytes, stopIfAborted } from './read-file.js'
import { syncDirectory } from './replace-file.js'
import { errnoOf } from './system-error.js'

export type MoveOptions = { readonly temporaryName: string; readonly signal?: AbortSignal | undefined }

/**
 * Renames an entry. Nothing is replaced. A link is moved as a link. The caller holds the locks on both paths; another
 * process can still create the target right before the rename.
 */
export async function moveFile(
  access: Access,
  from: OpenEntry,
  to: OpenEntry,
  options: MoveOptions,
): Promise<void> {
  if (from.stat === undefined) throw new FileNotFoundError(from.asWritten)
  await refuseUnmovable(access, from)
  // A file can be renamed to another spelling of its own name.
  if (to.stat !== undefined && !(to.stat.ino === from.stat.ino && to.stat.dev === from.stat.dev)) {
    throw new FileExistsError(to.asWritten)
  }
  stopIfAborted(options.signal, from.asWritten)
  try {
    await rename(from.directory.at(from.name), to.directory.at(to.name))
  } catch (thrown) {
    if (errnoOf(thrown) !== 'EXDEV' || !from.stat.isFile()) throw thrown
    await copyAcross(access, from, to, options)
  }
  if (access.durable) await Promise.all([syncDirectory(from), syncDirectory(to)])
}

/** A moved entry can be read under its new name, so all of it must be readable, and nothing protected can be in it. */
async function refuseUnmovable(access: Access, from: OpenEntry): Promise<void> {
  refuseCarrying(access, await authorise(access, 'read', from.realPath, from.asWritten), from.asWritten)
  if (!from.stat?.isDirectory()) return
  const budget = { entries: maxEntries }
  await authoriseTree(access, from, from.directory.at(from.name), from.realPath, budget, 0)
}

const maxEntries = 20_000
const deepest = 100

async function authoriseTree(
  access: Access,
  from: OpenEntry,
  at: string,
  realPath: string,
  budget: { entries: number },
  depth: number,
): Promise<void> {
  const directory = await openDirectory(access.method, at, { follow: false })
  try {
    const entries = depth > deepest ? undefined : await entriesOf(directory, budget.entries)
    if (entries === undefined) throw new DirectoryTooLargeError(from.asWritten, maxEntries)
    budget.entries -= entries.length
    for (const { name, kind } of entries) {
      const inner = join(realPath, name)
      await authorise(access, 'read', inner, from.asWritten)
      const match = await authorise(access, 'write', inner, from.asWritten)
      refuseCarrying(access, match, from.asWritten)
      if (kind === 'directory')
        await authoriseTree(access, from, directory.at(name), inner, budget, depth + 1)
    }
  } finally {
    await directory.close()
  }
}

/** Scratch and workspace can be on different file systems: then the bytes are copied. */
async function copyAcross(
  access: Access,
  from: OpenEntry,
  to: OpenEntry,
  options: MoveOptions,
): Promise<void> {
  if (rootOfReal(access.area, to.realPath) === undefined)
    throw new FileSystemError(to.asWritten, 'EXDEV', 'cannot be moved there')
  const temporary = to.directory.at(options.temporaryName)
  const source = await openRegular(from)
  try {
    const target = await open(temporary, createFlags, 0o600)
    try {
      await copyBytes(source, target, options.signal, from.asWritten)
      await target.chmod(source.stat.mode & 0o777)
      if (access.durable) await target.sync()
      await target.close()
      await rename(temporary, to.directory.at(to.name))
    } catch (thrown) {
      await target.close()
      // Ignored, because the first failure is the one to report.
      await unlink(temporary).catch(() => undefined)
      throw thrown
    }
  } finally {
    source.close()
  }
  await unlink(from.directory.at(from.name))
}

const createFlags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0)

async function copyBytes(
  source: OpenFile,
  target: FileHandle,
  signal: AbortSignal | undefined,
  path: string,
): Promise<void> {
  const chunk = new Uint8Array(chunkBytes)
  for (;;) {
    stopIfAborted(signal, path)
    const bytesRead = await source.read(chunk, 0, chunk.length, null)
    if (bytesRead === 0) return
    for (let written = 0; written < bytesRead; ) {
      const outcome = await target.write(chunk, written, bytesRead - written)
      written += outcome.bytesWritten
    }
  }
}
