import { CapstanError, markErrorClass, messageOf } from '../../tool/errors.js'
import { shownPath } from './shown-path.js'

// Every message contains the path as the caller wrote it: the model may not be allowed to know the real path.

/**
 * Thrown for a text that is not a valid path: empty, with a NUL byte, too long, or a name that the platform reserves.
 */
export class PathInvalidError extends CapstanError {
  constructor(path: string, problem: string) {
    super('path_invalid', `Path ${shownPath(path)} cannot be used: ${problem}.`)
  }
}

/** Thrown when the path leads out of the workspace, by its text or through a link. */
export class PathOutsideError extends CapstanError {
  constructor(path: string, how = 'is outside the workspace') {
    super(
      'path_outside',
      `Path ${shownPath(path)} ${how}. Use a path inside the workspace, written relative to its root.`,
    )
  }
}

/** Thrown when the path is protected: no tool can write it, whatever the rules say. */
export class PathProtectedError extends CapstanError {
  constructor(path: string, protectedName: string) {
    super(
      'path_protected',
      `Path ${shownPath(path)} cannot be changed by tools: ${shownPath(protectedName)} is protected. ` +
        'Leave it as it is, or ask the user to change it.',
    )
  }
}

/** Thrown when the call's grant does not cover the real path. */
export class PathNotPermittedError extends CapstanError {
  constructor(path: string, kind: 'read' | 'write', refusal: string) {
    super('path_not_permitted', `May not ${kind} ${shownPath(path)}: ${refusal}`)
  }
}

/** Thrown when the links of a path form a loop, or are more than the system follows. */
export class LinkLoopError extends CapstanError {
  constructor(path: string) {
    super(
      'path_link_loop',
      `Path ${shownPath(path)} runs through too many symbolic links (a loop, or more than 40). ` +
        'Use the path of the file itself.',
    )
  }
}

/** Thrown when another process replaced parts of the path repeatedly while it was used. */
export class PathUnstableError extends CapstanError {
  constructor(path: string) {
    super(
      'path_unstable',
      `Path ${shownPath(path)} kept changing while it was used; nothing was done. Try again.`,
    )
  }
}

/** Thrown when nothing exists at the path. */
export class FileNotFoundError extends CapstanError {
  constructor(path: string) {
    super(
      'file_not_found',
      `There is no file or directory at ${shownPath(path)}. List its directory or search for the name.`,
    )
  }
}

/** Thrown when something already exists at the path. */
export class FileExistsError extends CapstanError {
  constructor(path: string) {
    super(
      'file_exists',
      `There is already something at ${shownPath(path)}. Choose another name or remove it first.`,
    )
  }
}

/** Thrown when the entry at the path has the wrong kind: a directory, a pipe, a device. */
export class FileKindError extends CapstanError {
  constructor(path: string, problem: string) {
    super('file_kind', `${shownPath(path)} ${problem}.`)
  }
}

/** Thrown when a file is larger than the limit, which is the same for reading and writing. */
export class FileTooLargeError extends CapstanError {
  readonly limit: number

  constructor(path: string, size: number | undefined, limit: number, next: string) {
    const has = size === undefined ? 'more than that' : `${size} bytes`
    super(
      'file_too_large',
      `${shownPath(path)} is too large: the limit is ${limit} bytes, it has ${has}. ${next}`,
    )
    this.limit = limit
  }
}

/** Thrown when the directory has more entries than the limit. */
export class DirectoryTooLargeError extends CapstanError {
  constructor(path: string, limit: number) {
    super(
      'directory_too_large',
      `${shownPath(path)} has more than ${limit} entries. Search it with a pattern instead.`,
    )
  }
}

/** Thrown when the file was changed, removed or created since it was read. */
export class FileChangedError extends CapstanError {
  /** The current version; undefined: there is no file. */
  readonly version: string | undefined

  constructor(path: string, expected: string | null, version: string | undefined) {
    super(
      'file_changed',
      `${shownPath(path)} ${describeChange(expected, version)}; it was left untouched. Read it again.`,
    )
    this.version = version
  }
}

/** A path that could not be undone, and the reason. */
export type Left = { readonly path: string; readonly why: string }

/**
 * Thrown when one of several changes failed: none was made, or those in `left` could not be undone. `cause`: the first
 * error.
 */
export class FilesNotChangedError extends CapstanError {
  readonly path: string
  /** How many changes had been made before the failure. */
  readonly done: number
  readonly left: readonly Left[]

  constructor(path: string, cause: unknown, done: number, left: readonly Left[]) {
    const names = left.map((one) => shownPath(one.path)).join(', ')
    const rest = left.length === 0 ? '' : ` Changed before and not put back: ${names}.`
    super('files_not_changed', `${shownPath(path)} could not be changed: ${messageOf(cause)}${rest}`, {
      cause,
    })
    this.path = path
    this.done = done
    this.left = left
  }
}

/** Thrown when the file is not UTF-8 text. */
export class FileNotTextError extends CapstanError {
  constructor(path: string) {
    super(
      'file_not_text',
      `${shownPath(path)} is not UTF-8 text; nothing was read, so that nothing can be lost in turning it into text. ` +
        'Read its bytes.',
    )
  }
}

/**
 * Thrown when the file has no owner-write bit. Replacing it by a rename would succeed, against the intention of its
 * owner.
 */
export class FileReadOnlyError extends CapstanError {
  constructor(path: string) {
    super(
      'file_read_only',
      `${shownPath(path)} is marked read-only. Change its mode first if it is meant to be written.`,
    )
  }
}

/** Thrown when the call was cancelled before the file was read or written. */
export class FileAbortedError extends CapstanError {
  constructor(path: string) {
    super(
      'file_aborted',
      `The work on ${shownPath(path)} was cancelled before it took effect; nothing was changed.`,
    )
  }
}

/**
 * Thrown when the system refused an operation. `errno` is the system's name of the reason; its message is omitted,
 * because it contains host paths.
 */
export class FileSystemError extends CapstanError {
  readonly errno: string

  constructor(path: string, errno: string, problem: string) {
    super('file_system', `${shownPath(path)}: ${problem} (${errno}).`)
    this.errno = errno
  }
}

for (const [name, errorClass] of Object.entries({
  PathInvalidError,
  PathOutsideError,
  PathProtectedError,
  PathNotPermittedError,
  LinkLoopError,
  PathUnstableError,
  FileNotFoundError,
  FileExistsError,
  FileKindError,
  FileTooLargeError,
  DirectoryTooLargeError,
  FileChangedError,
  FilesNotChangedError,
  FileNotTextError,
  FileReadOnlyError,
  FileAbortedError,
  FileSystemError,
})) {
  markErrorClass(errorClass, name)
}

function describeChange(expected: string | null, version: string | undefined): string {
  if (expected === null) return 'exists already'
  return version === undefined ? 'was removed since it was read' : 'changed since it was read'
}
