import { closeSync, constants, openSync, readlinkSync } from 'node:fs'
import { tryOr } from '../../tool/errors.js'
import type { OpenMethod } from '../files/open-directory.js'

/**
 * Calls `use` with a path to the directory that is at exactly this real path. That path keeps leading to it even if the
 * directory is replaced in the meantime. Returns undefined when the directory does not exist or a link is on the way.
 * Where `/proc` does not show the handles of this process (`compare`), the path itself is used: Node cannot open
 * entries relative to a directory, so a replacement at that moment is not detected there.
 */
export function withExactDirectory<T>(
  method: OpenMethod,
  realPath: string,
  use: (at: string) => T,
): T | undefined {
  if (method === 'compare') return use(realPath)
  const fd = openHere(realPath)
  if (fd === undefined) return undefined
  try {
    const at = `/proc/self/fd/${fd}`
    return readlinkSync(at) === realPath ? use(at) : undefined
  } finally {
    closeSync(fd)
  }
}

export function inDirectory(directory: string, path: string): string {
  return directory === '/' ? `/${path}` : `${directory}/${path}`
}

function openHere(path: string): number | undefined {
  return tryOr(
    () => openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW),
    undefined,
  )
}
