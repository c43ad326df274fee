import { closeSync, constants, fsync, openSync, readlinkSync, realpathSync } from 'node:fs'
import { lstat, open, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

/**
 * How the gap between checking a path and using it is closed.
 *
 * `handle`: a directory is opened first and its real path read from the open handle (`/proc/self/fd`); everything else
 * uses that handle, so that a link that replaces the directory later has no effect. Linux.
 *
 * `compare`: the real path is computed, used, and computed again afterwards. A swap in between is detected, but for an
 * effect such as a rename only after it happened. Used elsewhere, because Node has no `openat`.
 */
export type OpenMethod = 'handle' | 'compare'

/** A directory that is open, with the real path it had when it was opened. */
export type OpenDirectory = {
  readonly realPath: string
  /** Returns the path to use for an entry of this directory. */
  at(name: string): string
  /** Whether the directory is still the one whose real path was checked. Always true with `handle`. */
  isSame(): Promise<boolean>
  /** Flushes added and removed names to the disk, so that they survive a power failure. */
  sync(): Promise<void>
  close(): Promise<void>
}

/** Opens a directory, following links unless `follow` is false. The caller decides by `realPath` whether to use it. */
export async function openDirectory(
  method: OpenMethod,
  path: string,
  options: { readonly follow?: boolean } = {},
): Promise<OpenDirectory> {
  return method === 'handle'
    ? byHandle(path, options.follow ?? true)
    : byComparison(path, options.follow ?? true)
}

/** Returns the best method that works here. `/proc` can be missing or not show the handles of this process. */
export function bestMethod(root: string): OpenMethod {
  if (process.platform !== 'linux') return 'compare'
  const fd = openSync(root, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    return readlinkSync(`/proc/self/fd/${fd}`) === realpathSync.native(root) ? 'handle' : 'compare'
  } catch {
    return 'compare'
  } finally {
    closeSync(fd)
  }
}

const directoryFlags = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0)
const noFollow = constants.O_NOFOLLOW ?? 0

const syncNumber = promisify(fsync)

/**
 * Every file access of a tool calls this function. The caller has just read the entry, so the system answers from its
 * cache: a call on another thread would take many times longer.
 */
async function byHandle(path: string, follow: boolean): Promise<OpenDirectory> {
  const fd = openSync(path, directoryFlags | (follow ? 0 : noFollow))
  let isOpen = true
  const close = (): void => {
    // After a second close, the number could belong to another open file.
    if (isOpen) closeSync(fd)
    isOpen = false
  }
  try {
    const realPath = pathOfHandle(fd)
    return {
      realPath,
      at: (name) => `/proc/self/fd/${fd}/${name}`,
      isSame: () => Promise.resolve(true),
      sync: () => syncNumber(fd),
      close: async () => close(),
    }
  } catch (thrown) {
    close()
    throw thrown
  }
}

/** Returns the real path of an open file or directory (Linux). */
function pathOfHandle(fd: number): string {
  const bytes = readlinkSync(`/proc/self/fd/${fd}`, 'buffer')
  const path = bytes.toString('utf8')
  // A name that is not UTF-8 cannot be compared as text: two different names could look the same.
  if (!Buffer.from(path, 'utf8').equals(bytes))
    throw Object.assign(new Error('not UTF-8'), { code: 'EILSEQ' })
  return path
}

async function byComparison(path: string, follow: boolean): Promise<OpenDirectory> {
  if (!follow && (await lstat(path)).isSymbolicLink())
    throw Object.assign(new Error('a link'), { code: 'ELOOP' })
  const realPath = await realpath(path)
  // Windows cannot open a directory; there, only its identity is compared.
  const handle = process.platform === 'win32' ? undefined : await open(realPath, directoryFlags | noFollow)
  try {
    const identity = await identityOf(realPath)
    return {
      realPath,
      at: (name) => join(realPath, name),
      isSame: async () =>
        (await realpath(realPath)) === realPath && (await identityOf(realPath)) === identity,
      sync: async () => handle?.sync(),
      close: async () => handle?.close(),
    }
  } catch (thrown) {
    await handle?.close()
    throw thrown
  }
}

async function identityOf(path: string): Promise<string> {
  const { dev, ino, mode } = await lstat(path, { bigint: true })
  return `${dev}:${ino}:${mode & 0o170000n}`
}
