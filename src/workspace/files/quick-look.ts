import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  realpathSync,
} from 'node:fs'
import { join } from 'node:path'
import { bestMethod, type OpenMethod } from './open-directory.js'

/** Fast synchronous reads, for callers that need a result at once and can continue without one. */
export interface QuickLook {
  /**
   * Returns the names in a directory, given relative to the root; directories end with a slash. Empty when they cannot
   * be read. Links are omitted.
   */
  names(path: string): readonly string[]
  /** Returns the text of a small file; undefined when there is none, or it is not a regular file inside the root. */
  text(path: string, maxBytes: number): string | undefined
}

/** Creates synchronous access to a directory that never reads anything outside of it, wherever links lead. */
export function lookInside(root: string): QuickLook {
  const real = realpathSync.native(root)
  const method = bestMethod(real)
  const inside = (path: string): string => join(real, path)
  return {
    names(path) {
      return (
        opened(inside(path), constants.O_DIRECTORY ?? 0, (fd) => {
          if (!staysInside(method, fd, inside(path), real)) return undefined
          const at = method === 'handle' ? `/proc/self/fd/${fd}` : inside(path)
          return readdirSync(at, { withFileTypes: true }).flatMap((entry) => {
            if (entry.isDirectory()) return [`${entry.name}/`]
            return entry.isFile() ? [entry.name] : []
          })
        }) ?? []
      )
    },
    text(path, maxBytes) {
      // Without this flag, opening a pipe would block until another process writes to it.
      return opened(inside(path), constants.O_NONBLOCK ?? 0, (fd) => {
        if (!staysInside(method, fd, inside(path), real)) return undefined
        const { size } = fstatSync(fd)
        if (!fstatSync(fd).isFile() || size > maxBytes) return undefined
        const bytes = Buffer.alloc(size)
        return bytes.toString('utf8', 0, readSync(fd, bytes, 0, size, 0))
      })
    },
  }
}

function opened<T>(path: string, flags: number, look: (fd: number) => T | undefined): T | undefined {
  let fd: number | undefined
  try {
    fd = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | flags)
    return look(fd)
  } catch {
    // Missing, not readable, or a link: there is nothing to read.
    return undefined
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

/** Checks the open descriptor, so that a link that replaced the path in the meantime has no effect. */
function staysInside(method: OpenMethod, fd: number, path: string, root: string): boolean {
  const real = method === 'handle' ? readlinkSync(`/proc/self/fd/${fd}`) : realpathSync.native(path)
  return real === root || real.startsWith(root === '/' ? '/' : `${root}/`)
}
