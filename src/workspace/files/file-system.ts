import type { DirectoryEntry, FileStat } from '../../tool/runtime.js'

/** A {@link FileStat} with the facts that only some file systems know. */
export type FileSystemStat = FileStat & {
  /** The number of names (hard links) of the file. Absent: unknown. */
  readonly hardLinks?: number | undefined
  /** Equal for all names of one file that has several, and for no other file. Absent: unknown, or one name. */
  readonly sameFile?: string | undefined
  /** When the file last changed, by a clock that no program can set. Absent: unknown. */
  readonly changedAtMs?: number | undefined
}

/**
 * The file operations of a workspace backend. Paths are absolute, with `/` between names and without `.` and `..`; the
 * caller has resolved their links and judged them, so an operation must not follow a link at the end of its path. A
 * failure is an error whose `code` is the name that POSIX has for it (`EACCES`, `ENOSPC`, …).
 */
export interface WorkspaceFileSystem {
  /** What is at a path, a link as a link; undefined when there is nothing, also when a file is on the way. */
  lstat(path: string): Promise<FileSystemStat | undefined>
  /** Where the link at a path points to, as it is written there. */
  readLink(path: string): Promise<string>
  /** The entries of a directory in any order, links as links. More than `limit` need not be read. */
  list(path: string, limit: number): Promise<DirectoryEntry[]>
  /** The bytes of a file from `start` to `end` (exclusive), fewer where it ends earlier. */
  read(path: string, start: number, end: number): Promise<Uint8Array>
  /** Creates or replaces a file in a directory that exists. A reader sees the old bytes or the new ones. */
  write(path: string, bytes: Uint8Array, mode: number): Promise<void>
  /** Creates a directory in one that exists. Another one that is there already is not an error. */
  makeDirectory(path: string): Promise<void>
  /** Removes a file, a link or an empty directory. */
  remove(path: string): Promise<void>
  /** Moves a file, a link or a directory to a path where nothing is, in a directory that exists. */
  move(from: string, to: string): Promise<void>
  /**
   * Where a path leads through all links, in one step, for backends where each look costs a round trip; undefined when
   * that cannot be said. Absent: `lstat` and `readLink` are called for each name.
   */
  realPath?(path: string): Promise<string | undefined>
}

/** An error as {@link WorkspaceFileSystem} operations report it. */
export function systemError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}
