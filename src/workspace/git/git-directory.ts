import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { ifReadable, realPathIfReadable } from '../if-readable.js'

/**
 * The kind of a `.git`: a directory, a link, or a file that names a directory. `gitDirectory`: its real path, if any.
 */
export type GitEntry = {
  readonly path: string
  readonly kind: 'directory' | 'file' | 'link' | 'other'
  readonly gitDirectory?: string | undefined
}

/** Examines the `.git` in a directory; undefined when there is none. */
export function gitEntry(directory: string): GitEntry | undefined {
  const path = join(directory, '.git')
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (stat === undefined) return undefined
  if (stat.isDirectory()) return { path, kind: 'directory', gitDirectory: path }
  if (stat.isSymbolicLink()) return { path, kind: 'link', gitDirectory: realPathIfReadable(path) }
  if (!stat.isFile()) return { path, kind: 'other' }
  return { path, kind: 'file', gitDirectory: pointedTo(path, /^gitdir: ([^\r\n]+)\s*$/) }
}

/** Returns the real path that a small file names, relative to the directory of the file. */
export function pointedTo(file: string, form: RegExp): string | undefined {
  const target = form.exec(readSmall(file) ?? '')?.[1]
  return target === undefined ? undefined : realPathIfReadable(resolve(dirname(file), target))
}

const maxBytes = 1024 * 1024

/** Returns the text of a regular file. Undefined for a link, a pipe, a long file and one that cannot be read. */
export function readSmall(path: string): string | undefined {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
  const descriptor = ifReadable(() => openSync(path, flags))
  if (descriptor === undefined) return undefined
  try {
    const stat = fstatSync(descriptor)
    return stat.isFile() && stat.size <= maxBytes ? readFileSync(descriptor, 'utf8') : undefined
  } finally {
    closeSync(descriptor)
  }
}

/** Whether a file has other hard links. */
export function hasOtherNames(path: string): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  return stat?.isFile() === true && stat.nlink > 1
}
