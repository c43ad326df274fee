import { constants, type Stats } from 'node:fs'
import { type FileHandle, link, lstat, open, rename, unlink } from 'node:fs/promises'
import { FileChangedError, FileReadOnlyError, PathUnstableError } from './errors.js'
import { type OpenEntry, refuseIrregular } from './open-entry.js'
import { chunkBytes, stopIfAborted, versionAt } from './read-file.js'
import { errnoOf, tolerate } from './system-error.js'

export type Replacement = {
  readonly bytes: Uint8Array
  /** The version that the file must have; `null`: it must not exist; undefined: not checked. */
  readonly ifVersion: string | null | undefined
  readonly durable: boolean
  readonly temporaryName: string
  /** The mode of a new file; an existing file keeps its own. */
  readonly mode?: number | undefined
  /** Whether the mode also applies to an existing file. */
  readonly changeMode?: boolean | undefined
  readonly signal?: AbortSignal | undefined
}

/**
 * Replaces a file in one step: a temporary file next to it is written, flushed and renamed over it. A reader sees the
 * old content or the new, never a part; after a failure the old file is unchanged and no temporary file remains. A name
 * that is a hard link gets a separate file, so that a second name outside the workspace keeps its content.
 *
 * The caller holds the lock on the path. Other processes are not locked out: the version is compared again right before
 * the rename, and changes that they make after that comparison are lost.
 */
export async function replaceFile(
  entry: OpenEntry,
  replacement: Replacement,
): Promise<{ readonly created: boolean }> {
  const existing = await checkTarget(entry, replacement.ifVersion)
  stopIfAborted(replacement.signal, entry.asWritten)
  const temporary = entry.directory.at(replacement.temporaryName)
  const isPlain = existing === undefined && replacement.mode === undefined
  const file = await open(temporary, createFlags, isPlain ? 0o666 : 0o600)
  let published = false
  try {
    await fill(entry, file, existing, replacement)
    await file.close()
    stopIfAborted(replacement.signal, entry.asWritten)
    await refuseSurprise(entry, existing, replacement)
    published = await publish(entry, temporary, replacement)
  } finally {
    await file.close()
    // The original error is already being thrown; a failure to remove the temporary file adds nothing to it.
    if (!published) await unlink(temporary).catch(() => undefined)
  }
  if (replacement.durable) await syncDirectory(entry)
  return { created: existing === undefined }
}

/** Flushes a changed name to the disk. File systems that cannot flush a directory fail with these codes. */
export async function syncDirectory(entry: OpenEntry): Promise<void> {
  await entry.directory.sync().catch(tolerate(['EINVAL', 'ENOTSUP', 'EPERM', 'EISDIR'], undefined))
}

const createFlags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0)

async function checkTarget(
  entry: OpenEntry,
  ifVersion: string | null | undefined,
): Promise<Stats | undefined> {
  const { stat } = entry
  if (stat === undefined) {
    if (typeof ifVersion === 'string') throw new FileChangedError(entry.asWritten, ifVersion, undefined)
    return undefined
  }
  refuseIrregular(entry.asWritten, stat)
  if (ifVersion !== undefined) {
    const version = await versionAt(entry)
    if (version !== ifVersion) throw new FileChangedError(entry.asWritten, ifVersion, version)
  }
  if ((stat.mode & 0o200) === 0) throw new FileReadOnlyError(entry.asWritten)
  return stat
}

async function fill(
  entry: OpenEntry,
  file: FileHandle,
  existing: Stats | undefined,
  replacement: Replacement,
): Promise<void> {
  // Checked before any byte is written: with `compare` the directory may have been replaced while the file was created.
  if (!(await entry.directory.isSame())) throw new PathUnstableError(entry.asWritten)
  const { bytes } = replacement
  for (let written = 0; written < bytes.length; ) {
    stopIfAborted(replacement.signal, entry.asWritten)
    // A full disk first causes a short write, and an error only on the next one.
    const { bytesWritten } = await file.write(bytes, written, Math.min(chunkBytes, bytes.length - written))
    written += bytesWritten
  }
  if (existing !== undefined) await keepOwnerAndMode(file, existing)
  if (replacement.mode !== undefined && (existing === undefined || replacement.changeMode === true))
    await file.chmod(replacement.mode & 0o777)
  if (replacement.durable) await file.sync()
}

/** Keeps owner and mode, without the setuid, setgid and sticky bits: those were granted to the old content. */
async function keepOwnerAndMode(file: FileHandle, existing: Stats): Promise<void> {
  const own = await file.stat()
  if (own.uid !== existing.uid || own.gid !== existing.gid) {
    // As root, a user's file stays the user's. Other users cannot change the owner, so the new file is theirs.
    await file.chown(existing.uid, existing.gid).catch(tolerate(['EPERM', 'EINVAL', 'ENOSYS'], undefined))
  }
  await file.chmod(existing.mode & 0o777)
}

/** Checks the target again, right before the step that cannot be undone. */
async function refuseSurprise(
  entry: OpenEntry,
  existing: Stats | undefined,
  replacement: Replacement,
): Promise<void> {
  if (!(await entry.directory.isSame())) throw new PathUnstableError(entry.asWritten)
  const now = await lstat(entry.directory.at(entry.name)).catch(tolerate(['ENOENT'], undefined))
  if (now?.isDirectory()) refuseIrregular(entry.asWritten, now)
  const { ifVersion } = replacement
  if (typeof ifVersion !== 'string') return
  if (now === undefined || existing === undefined || !isUntouched(existing, now)) {
    throw new FileChangedError(entry.asWritten, ifVersion, undefined)
  }
}

function isUntouched(before: Stats, now: Stats): boolean {
  return (
    before.ino === now.ino &&
    before.dev === now.dev &&
    before.size === now.size &&
    before.ctimeMs === now.ctimeMs
  )
}

async function publish(entry: OpenEntry, temporary: string, { ifVersion }: Replacement): Promise<boolean> {
  const target = entry.directory.at(entry.name)
  const linked = ifVersion === null ? await linkNew(temporary, target) : 'unable'
  if (linked === 'exists') throw new FileChangedError(entry.asWritten, null, undefined)
  if (linked === 'made') await unlink(temporary)
  else await rename(temporary, target)
  return true
}

/** Creates the file with a hard link, which unlike a rename fails if the target exists. Not supported everywhere. */
async function linkNew(temporary: string, target: string): Promise<'made' | 'exists' | 'unable'> {
  try {
    await link(temporary, target)
    return 'made'
  } catch (thrown) {
    const errno = errnoOf(thrown) ?? ''
    if (errno === 'EEXIST') return 'exists'
    if (['EPERM', 'ENOTSUP', 'ENOSYS', 'EMLINK', 'EACCES'].includes(errno)) return 'unable'
    throw thrown
  }
}
