import { constants, type Stats } from 'node:fs'
import { type FileHandle, link, lstat, open, rename, unlink } from 'node:fs/promises'
import { FileChangedError, FileReadOnlyError, PathUnstableError } from './errors.js'
import { type OpenEntry, refuseIrregular } from './open-entry.js'
import { chunkBytes, stopIfAborted, versionAt } from './read-file.js'
import { errnoOf, tolerate } from './system-error.js'

export type Replacement = {
  readonly bytes: Uint8Array
  /** The version the file must have; `null`: there must be none; undefined: whatever is there. */
  readonly ifVersion: string | null | undefined
  readonly durable: boolean
  readonly temporaryName: string
  /** For a file that is not there yet; one that is keeps its own. */
  readonly mode?: number | undefined
  /** The mode is for a file that is there, too. */
  readonly changeMode?: boolean | undefined
  readonly signal?: AbortSignal | undefined
}

/**
 * Replaces a file in one step: a temporary file next to it is filled, made durable and renamed over it. A reader sees
 * the old content or the new, never a part; a failure leaves the old file and no temporary one. A name that is a hard
 * link gets a file of its own, so that a second name outside the workspace keeps its content.
 *
 * The caller holds the lock on the path. Other processes are not held off: the version is compared again right before
 * the rename, and what they do in the instant after that is lost.
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
    // Whatever went wrong is being thrown already; a temporary file that cannot be removed adds nothing to that.
    if (!published) await unlink(temporary).catch(() => undefined)
  }
  if (replacement.durable) await syncDirectory(entry)
  return { created: existing === undefined }
}

/** Makes a changed name durable. File systems that cannot say so with these codes: there is nothing to wait for. */
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
  // Before a byte is in it: with `compare` the directory may have been swapped while the file was created.
  if (!(await entry.directory.isSame())) throw new PathUnstableError(entry.asWritten)
  const { bytes } = replacement
  for (let written = 0; written < bytes.length; ) {
    stopIfAborted(replacement.signal, entry.asWritten)
    // A full disk shows as a short write first, and as an error only on the next one.
    const { bytesWritten } = await file.write(bytes, written, Math.min(chunkBytes, bytes.length - written))
    written += bytesWritten
  }
  if (existing !== undefined) await keepOwnerAndMode(file, existing)
  if (replacement.mode !== undefined && (existing === undefined || replacement.changeMode === true))
    await file.chmod(replacement.mode & 0o777)
  if (replacement.durable) await file.sync()
}

/** The mode stays, without setuid, setgid and sticky bits: they vouched for the old content. */
async function keepOwnerAndMode(file: FileHandle, existing: Stats): Promise<void> {
  const own = await file.stat()
  if (own.uid !== existing.uid || own.gid !== existing.gid) {
    // Root keeps a user's file the user's; others may not give files away, and then it is theirs.
    await file.chown(existing.uid, existing.gid).catch(tolerate(['EPERM', 'EINVAL', 'ENOSYS'], undefined))
  }
  await file.chmod(existing.mode & 0o777)
}

/** Looks once more, right before the step that cannot be taken back. */
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

/** A hard link refuses to replace what is there, which a rename cannot; not every file system has them. */
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
