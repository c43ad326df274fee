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
  /** The path to use for an entry of this directory. */
  at(name: string): string
  /** Whether the directory is still the one whose real path was checked. Always so with `handle`. */
  isSame(): Promise<boolean>
  /** Makes names that were added or taken away survive a power cut. */
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

/** The best method that works here. `/proc` may be missing or not show our own handles. */
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
 * Every file that a tool touches goes through here. A caller has just looked at what is inside, so that the system
 * answers from its memory: a trip to another thread would cost many times more than the answer.
 */
async function byHandle(path: string, follow: boolean): Promise<OpenDirectory> {
  const fd = openSync(path, directoryFlags | (follow ? 0 : noFollow))
  let isOpen = true
  const close = (): void => {
    // Closed twice, it could be the next one's.
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

/** Where an open file or directory really is (Linux). */
function pathOfHandle(fd: number): string {
  const bytes = readlinkSync(`/proc/self/fd/${fd}`, 'buffer')
  const path = bytes.toString('utf8')
  // A name that is not UTF-8 cannot be compared as text: two of them could look alike.
  if (!Buffer.from(path, 'utf8').equals(bytes))
    throw Object.assign(new Error('not UTF-8'), { code: 'EILSEQ' })
  return path
}

async function byComparison(path: string, follow: boolean): Promise<OpenDirectory> {
  if (!follow && (await lstat(path)).isSymbolicLink())
    throw Object.assign(new Error('a link'), { code: 'ELOOP' })
  const realPath = await realpath(path)
  // Windows cannot open a directory; there the comparison of its identity has to do.
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
