import type { Stats } from 'node:fs'
import { lstat, opendir } from 'node:fs/promises'
import type { DirectoryEntry, FileKind } from '../../tool/runtime.js'
import { DirectoryTooLargeError, FileKindError, FileNotFoundError } from './errors.js'
import { type OpenDirectory, type OpenMethod, openDirectory } from './open-directory.js'
import type { OpenEntry } from './open-entry.js'
import { tolerate } from './system-error.js'

/** Returns the entries of a directory, by name. Links are listed as links, never followed. */
export async function listDirectory(
  entry: OpenEntry,
  method: OpenMethod,
  limit: number,
): Promise<DirectoryEntry[]> {
  if (entry.stat === undefined) throw new FileNotFoundError(entry.asWritten)
  if (!entry.stat.isDirectory())
    throw new FileKindError(entry.asWritten, 'is not a directory; read it instead')
  const directory = await openDirectory(method, entry.directory.at(entry.name), { follow: false })
  try {
    const entries = await entriesOf(directory, limit)
    if (entries === undefined) throw new DirectoryTooLargeError(entry.asWritten, limit)
    return entries.length > maxSized ? entries : await withSizes(directory, entries)
  } finally {
    await directory.close()
  }
}

/** Returns the entries of an open directory; undefined when there are more than `limit`. */
export async function entriesOf(
  directory: OpenDirectory,
  limit: number,
): Promise<DirectoryEntry[] | undefined> {
  const entries: DirectoryEntry[] = []
  // Leaving the loop early closes the stream.
  for await (const entry of await opendir(directory.at('.'), { bufferSize: 256 })) {
    if (entries.length >= limit) return undefined
    entries.push({ name: entry.name, kind: kindOf(entry) })
  }
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1))
}

export function kindOf(entry: Pick<Stats, 'isFile' | 'isDirectory' | 'isSymbolicLink'>): FileKind {
  if (entry.isFile()) return 'file'
  if (entry.isDirectory()) return 'directory'
  return entry.isSymbolicLink() ? 'symlink' : 'other'
}

// A size costs one system call for each entry; in a directory larger than this, sizes are not read.
const maxSized = 2000
const atOnce = 32

async function withSizes(
  directory: OpenDirectory,
  entries: readonly DirectoryEntry[],
): Promise<DirectoryEntry[]> {
  const sized: DirectoryEntry[] = []
  for (let from = 0; from < entries.length; from += atOnce) {
    sized.push(
      ...(await Promise.all(entries.slice(from, from + atOnce).map((entry) => withSize(directory, entry)))),
    )
  }
  return sized
}

async function withSize(directory: OpenDirectory, entry: DirectoryEntry): Promise<DirectoryEntry> {
  if (entry.kind !== 'file') return entry
  // The entry may have been removed, or its name may not be valid text; then it is listed without a size.
  const stat = await lstat(directory.at(entry.name)).catch(tolerate(['ENOENT', 'EACCES'], undefined))
  return stat?.isFile() ? { ...entry, size: stat.size } : entry
}
