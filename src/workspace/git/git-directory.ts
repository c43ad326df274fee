import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { realPathIfReadable } from '../if-readable.js'

/** What a `.git` is: a directory, a link, or a file that names a directory. `gitDirectory` is real, if it exists. */
export type GitEntry = {
  readonly path: string
  readonly kind: 'directory' | 'file' | 'link' | 'other'
  readonly gitDirectory?: string | undefined
}

/** Looks at the `.git` in a directory; undefined when there is none. */
export function gitEntry(directory: string): GitEntry | undefined {
  const path = join(directory, '.git')
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (stat === undefined) return undefined
  if (stat.isDirectory()) return { path, kind: 'directory', gitDirectory: path }
  if (stat.isSymbolicLink()) return { path, kind: 'link', gitDirectory: realPathIfReadable(path) }
  if (!stat.isFile()) return { path, kind: 'other' }
  return { path, kind: 'file', gitDirectory: pointedTo(path, /^gitdir: ([^\r\n]+)\s*$/) }
}

/** The real path that a small file names, relative to where the file lies. */
export function pointedTo(file: string, form: RegExp): string | undefined {
  const target = form.exec(readSmall(file) ?? '')?.[1]
  return target === undefined ? undefined : realPathIfReadable(resolve(dirname(file), target))
}

const maxBytes = 1024 * 1024

/** The text of a regular file. Undefined for a link, a pipe, a file that is too long and one that cannot be read. */
export function readSmall(path: string): string | undefined {
  let descriptor: number
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch {
    return undefined
  }
  try {
    const stat = fstatSync(descriptor)
    return stat.isFile() && stat.size <= maxBytes ? readFileSync(descriptor, 'utf8') : undefined
  } finally {
    closeSync(descriptor)
  }
}

/** Whether there are further hard links to a file. */
export function hasOtherNames(path: string): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  return stat?.isFile() === true && stat.nlink > 1
}
