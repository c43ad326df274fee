import { closeSync, constants, openSync, readlinkSync } from 'node:fs'
import { tryOr } from '../../tool/errors.js'
import type { OpenMethod } from '../files/open-directory.js'

/**
 * Uses a directory that is at exactly this real path, by a path that leads to it whatever is put in its place
 * meanwhile; undefined when it is not there or a link is on the way. Where `/proc` does not show our handles
 * (`compare`), the path itself has to do: Node can open nothing relative to a directory, so a swap at that moment
 * goes unnoticed there.
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
