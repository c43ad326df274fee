import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { chmod, type FileHandle, lstat, open, opendir, rename, rm, rmdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { errnoOf, tolerate } from '../files/system-error.js'

export type Identity = { readonly dev: bigint; readonly ino: bigint }

/**
 * Removes the directory `name` of `base` with all its content, if it still is the expected one. Links are removed,
 * never followed, and mounts inside are not touched. Returns false if another entry is there; that one is not touched.
 *
 * On Linux every access goes through open directories, so that a link that replaces a directory in the meantime has no
 * effect. Deep trees are flattened instead of descended into: two handles are enough for any depth.
 */
export async function removeTree(base: string, name: string, identity?: Identity): Promise<boolean> {
  const path = join(base, name)
  const top = await openOwn(path)
  if (top === 'missing') return true
  if (top === 'foreign') return false
  try {
    const stat = await top.stat({ bigint: true })
    if (identity !== undefined && (stat.dev !== identity.dev || stat.ino !== identity.ino)) return false
    if (process.getuid !== undefined && stat.uid !== BigInt(process.getuid())) return false
    await (onLinux ? emptyByHandle(top) : rm(path, { recursive: true, force: true }))
    await rmdir(path).catch(tolerate(['ENOENT'], undefined))
    return true
  } finally {
    await top.close()
  }
}

const directoryFlags = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0)
// Not among Node's constants; the value is the same on every Linux architecture that Node supports.
const openPathOnly = 0o10000000
const onLinux = process.platform === 'linux'

async function openOwn(path: string): Promise<FileHandle | 'missing' | 'foreign'> {
  try {
    // On Linux, opened without read permission: a process that works in it may have removed that permission.
    return await open(path, directoryFlags | (onLinux ? openPathOnly : 0))
  } catch (thrown) {
    const errno = errnoOf(thrown)
    if (errno === 'ENOENT') return 'missing'
    if (errno === 'ELOOP' || errno === 'ENOTDIR' || errno === 'EACCES') return 'foreign'
    throw thrown
  }
}

/** Empties the top directory; subdirectories that are not empty are moved up into it and emptied next. */
async function emptyByHandle(pinned: FileHandle): Promise<void> {
  await chmod(`/proc/self/fd/${pinned.fd}`, 0o700)
  const top = await open(`/proc/self/fd/${pinned.fd}/.`, directoryFlags)
  const at = (name: string): string => `/proc/self/fd/${top.fd}/${name}`
  // Unguessable, because other processes chose the names in the tree.
  const prefix = `.lifted-${randomBytes(8).toString('hex')}`
  const waiting: string[] = []
  let lifted = 0
  const lift = async (from: string): Promise<void> => {
    const name = `${prefix}-${lifted++}`
    await rename(from, at(name))
    waiting.push(name)
  }
  try {
    await emptyOnce(top, async (_from, name) => void waiting.push(name))
    for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
      const inner = await open(at(name), directoryFlags).catch(skipMount)
      if (inner === undefined) continue
      await emptyOnce(inner, lift).finally(() => inner.close())
      await rmdir(at(name)).catch(skipMount)
    }
  } finally {
    await top.close()
  }
}

type Keep = (from: string, name: string) => Promise<void>

/** Removes every entry of a directory, except subdirectories that are not empty, which are passed to `full`. */
async function emptyOnce(directory: FileHandle, full: Keep): Promise<void> {
  const names: string[] = []
  for await (const entry of await opendir(`/proc/self/fd/${directory.fd}/.`)) names.push(entry.name)
  for (const name of names) {
    const path = `/proc/self/fd/${directory.fd}/${name}`
    const kind = await lstat(path).catch(tolerate(['ENOENT'], undefined))
    if (kind === undefined) continue
    if (!kind.isDirectory()) await unlink(path).catch(tolerate(['ENOENT'], undefined))
    else if (!(await removeEmpty(path))) await makeWritable(path).then(() => full(path, name), skipMount)
  }
}

async function removeEmpty(path: string): Promise<boolean> {
  const outcome = await rmdir(path).catch(
    tolerate(['ENOTEMPTY', 'EEXIST', 'EACCES', 'EBUSY'], 'full' as const),
  )
  return outcome !== 'full'
}

/** A directory without write permission can neither be emptied nor moved. By handle: `chmod` follows links. */
async function makeWritable(path: string): Promise<void> {
  const handle = await open(path, openPathOnly | directoryFlags)
  try {
    await chmod(`/proc/self/fd/${handle.fd}`, 0o700)
  } finally {
    await handle.close()
  }
}

/** A mount point, a file with special attributes or a changed entry is not removed, and neither is its directory. */
const skipMount = tolerate(
  ['EBUSY', 'ENOTEMPTY', 'EXDEV', 'EROFS', 'EPERM', 'ELOOP', 'ENOTDIR', 'ENOENT'],
  undefined,
)
