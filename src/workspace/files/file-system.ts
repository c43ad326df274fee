import type { DirectoryEntry, FileStat } from '../../tool/runtime.js'

/** A {@link FileStat} with properties that only some file systems report. */
export type FileSystemStat = FileStat & {
  /** The number of names (hard links) of the file. Absent: unknown. */
  readonly hardLinks?: number | undefined
  /** Equal for all hard links of one file, and different for other files. Absent: unknown, or only one link. */
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
  /**
   * Returns the entry at a path, without following a link; undefined when there is nothing, also when a parent is a
   * file.
   */
  lstat(path: string): Promise<FileSystemStat | undefined>
  /** Returns the target of the link at a path, as it is stored. */
  readLink(path: string): Promise<string>
  /**
   * Returns the entries of a directory in any order, without following links. Entries beyond `limit` need not be read.
   */
  list(path: string, limit: number): Promise<DirectoryEntry[]>
  /** Returns the bytes of a file from `start` to `end` (exclusive), fewer if it ends earlier. */
  read(path: string, start: number, end: number): Promise<Uint8Array>
  /** Creates or replaces a file in an existing directory. A reader sees the old bytes or the new ones. */
  write(path: string, bytes: Uint8Array, mode: number): Promise<void>
  /** Creates a directory in an existing one. A directory that already exists is not an error. */
  makeDirectory(path: string): Promise<void>
  /** Removes a file, a link or an empty directory. */
  remove(path: string): Promise<void>
  /** Moves a file, a link or a directory to a path where nothing is, in an existing directory. */
  move(from: string, to: string): Promise<void>
  /**
   * Resolves all links of a path in one step, for backends where each call costs a round trip; undefined when it cannot
   * be determined. Absent: `lstat` and `readLink` are called for each name.
   */
  realPath?(path: string): Promise<string | undefined>
}

/** An error as {@link WorkspaceFileSystem} operations report it. */
export function systemError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}
