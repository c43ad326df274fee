import { constants, type Stats } from 'node:fs'
import { type FileHandle, link, lstat, open, rename, unlink } from 'node:fs/promises'
import { FileChangedError, FileReadOnlyError, PathUnstableError } from './errors.js'
import { type Place, refuseIrregular } from './open-contained.js'
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
  readonly signal?: AbortSignal | undefined
}

/**
 * Replaces the file at a place in one step: a temporary file beside it is filled, made durable and renamed over it. Whoever reads
 * sees the old content or the new, never a part; a failure leaves the old file and no temporary one. A name that is a hard link
 * gets a file of its own, so that a second name outside the workspace keeps its content.
 *
 * The caller holds the lock on the path. Other processes are not held off: the version is compared again right before the
 * rename, and what they do in the instant after that is lost.
 */
export async function replaceFile(
  place: Place,
  replacement: Replacement,
): Promise<{ readonly created: boolean }> {
  const existing = await checkTarget(place, replacement.ifVersion)
  stopIfAborted(replacement.signal, place.asWritten)
  const temporary = place.directory.at(replacement.temporaryName)
  const isPlain = existing === undefined && replacement.mode === undefined
  const file = await open(temporary, createFlags, isPlain ? 0o666 : 0o600)
  let published = false
  try {
    await fill(place, file, existing, replacement)
    await file.close()
    stopIfAborted(replacement.signal, place.asWritten)
    await refuseSurprise(place, existing, replacement)
    published = await publish(place, temporary, replacement)
  } finally {
    await file.close()
    // Whatever went wrong is being thrown already; a temporary file that cannot be removed adds nothing to that.
    if (!published) await unlink(temporary).catch(() => undefined)
  }
  if (replacement.durable) await syncDirectory(place)
  return { created: existing === undefined }
}

/** Makes a changed name durable. Some file systems cannot, and say so with these codes: then there is nothing to wait for. */
export async function syncDirectory(place: Place): Promise<void> {
  await place.directory.sync().catch(tolerate(['EINVAL', 'ENOTSUP', 'EPERM', 'EISDIR'], undefined))
}

const createFlags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0)

async function checkTarget(place: Place, ifVersion: string | null | undefined): Promise<Stats | undefined> {
  const { stat } = place
  if (stat === undefined) {
    if (typeof ifVersion === 'string') throw new FileChangedError(place.asWritten, ifVersion, undefined)
    return undefined
  }
  refuseIrregular(place.asWritten, stat)
  if (ifVersion !== undefined) {
    const version = await versionAt(place)
    if (version !== ifVersion) throw new FileChangedError(place.asWritten, ifVersion, version)
  }
  if ((stat.mode & 0o200) === 0) throw new FileReadOnlyError(place.asWritten)
  return stat
}

async function fill(
  place: Place,
  file: FileHandle,
  existing: Stats | undefined,
  replacement: Replacement,
): Promise<void> {
  // Before a byte is in it: with `compare` the directory may have been swapped while the file was created.
  if (!(await place.directory.isSame())) throw new PathUnstableError(place.asWritten)
  const { bytes } = replacement
  for (let written = 0; written < bytes.length; ) {
    stopIfAborted(replacement.signal, place.asWritten)
    // A full disk shows as a short write first, and as an error only on the next one.
    const { bytesWritten } = await file.write(bytes, written, Math.min(chunkBytes, bytes.length - written))
    written += bytesWritten
  }
  if (existing !== undefined) await keepOwnerAndMode(file, existing)
  else if (replacement.mode !== undefined) await file.chmod(replacement.mode & 0o777)
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
  place: Place,
  existing: Stats | undefined,
  replacement: Replacement,
): Promise<void> {
  if (!(await place.directory.isSame())) throw new PathUnstableError(place.asWritten)
  const now = await lstat(place.directory.at(place.name)).catch(tolerate(['ENOENT'], undefined))
  if (now?.isDirectory()) refuseIrregular(place.asWritten, now)
  const { ifVersion } = replacement
  if (typeof ifVersion !== 'string') return
  if (now === undefined || existing === undefined || !isUntouched(existing, now)) {
    throw new FileChangedError(place.asWritten, ifVersion, undefined)
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

async function publish(place: Place, temporary: string, { ifVersion }: Replacement): Promise<boolean> {
  const target = place.directory.at(place.name)
  const linked = ifVersion === null ? await linkNew(temporary, target) : 'unable'
  if (linked === 'exists') throw new FileChangedError(place.asWritten, null, undefined)
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
