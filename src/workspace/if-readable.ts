import {
  type Dirent,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  type Stats,
} from 'node:fs'

// Readers for paths that can change while they are read: processes that end, files of other users, trees in use. A
// missing or unreadable path is a normal result, not an error.

/** Reads a small text file; undefined when it is missing or not readable. */
export function textIfReadable(path: string): string | undefined {
  // Node reads a small file as UTF-8 in a third of the time of other encodings.
  return ifReadable(() => readFileSync(path, 'utf8'))
}

/** Lists the names in a directory; empty when it is missing or not readable. */
export function namesIfReadable(path: string): readonly string[] {
  return ifReadable(() => readdirSync(path)) ?? []
}

/** Lists a directory; undefined when it is missing or not readable. */
export function entriesIfReadable(path: string): Dirent[] | undefined {
  return ifReadable(() => readdirSync(path, { withFileTypes: true }))
}

/** Returns the target of a link; undefined when there is no link or it is not readable. */
export function linkIfReadable(path: string): string | undefined {
  return ifReadable(() => readlinkSync(path))
}

/** Returns the real path; undefined when it leads nowhere or is not readable. */
export function realPathIfReadable(path: string): string | undefined {
  return ifReadable(() => realpathSync(path))
}

/** Returns the state of the entry itself, without following a link; undefined when it is missing or not accessible. */
export function statIfReadable(path: string): Stats | undefined {
  return ifReadable(() => lstatSync(path, { throwIfNoEntry: false }))
}

/** Returns the result of a read; undefined when it fails. */
export function ifReadable<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
