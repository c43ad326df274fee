import { CapstanError, markErrorClass, messageOf } from '../../tool/errors.js'
import { shownPath } from './shown-path.js'

// Every message names the path as its caller wrote it: the real place may be one that the model must not learn of.

/** The text can be no path here: empty, a NUL byte, too long, a name the platform reserves. */
export class PathInvalidError extends CapstanError {
  constructor(path: string, problem: string) {
    super('path_invalid', `Path ${shownPath(path)} cannot be used: ${problem}.`)
  }
}

/** The path leads out of the workspace, by its text or through a link. */
export class PathOutsideError extends CapstanError {
  constructor(path: string, how = 'is outside the workspace') {
    super(
      'path_outside',
      `Path ${shownPath(path)} ${how}. Use a path inside the workspace, written relative to its root.`,
    )
  }
}

/** The path is closed to every tool's writing, whatever the rules say. */
export class PathProtectedError extends CapstanError {
  constructor(path: string, protectedName: string) {
    super(
      'path_protected',
      `Path ${shownPath(path)} cannot be changed by tools: ${shownPath(protectedName)} is protected. ` +
        'Leave it as it is, or ask the user to change it.',
    )
  }
}

/** The call's grant does not cover the real place of this path. */
export class PathNotPermittedError extends CapstanError {
  constructor(path: string, kind: 'read' | 'write', refusal: string) {
    super('path_not_permitted', `May not ${kind} ${shownPath(path)}: ${refusal}`)
  }
}

/** The links on the way lead round in a circle, or through more links than the system follows. */
export class LinkLoopError extends CapstanError {
  constructor(path: string) {
    super(
      'path_link_loop',
      `Path ${shownPath(path)} runs through too many symbolic links (a loop, or more than 40). ` +
        'Use the path of the file itself.',
    )
  }
}

/** Another process replaced parts of the path again and again while it was used. */
export class PathUnstableError extends CapstanError {
  constructor(path: string) {
    super(
      'path_unstable',
      `Path ${shownPath(path)} kept changing while it was used; nothing was done. Try again.`,
    )
  }
}

/** There is nothing at the path. */
export class FileNotFoundError extends CapstanError {
  constructor(path: string) {
    super(
      'file_not_found',
      `There is no file or directory at ${shownPath(path)}. List its directory or search for the name.`,
    )
  }
}

/** There is already something at the path. */
export class FileExistsError extends CapstanError {
  constructor(path: string) {
    super(
      'file_exists',
      `There is already something at ${shownPath(path)}. Choose another name or remove it first.`,
    )
  }
}

/** It is there, but it is of the wrong kind for this: a directory, a pipe, a device. */
export class FileKindError extends CapstanError {
  constructor(path: string, problem: string) {
    super('file_kind', `${shownPath(path)} ${problem}.`)
  }
}

/** One bound holds for reading and writing alike; past it this error, never "not found". */
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

/** The directory has more entries than are listed. */
export class DirectoryTooLargeError extends CapstanError {
  constructor(path: string, limit: number) {
    super(
      'directory_too_large',
      `${shownPath(path)} has more than ${limit} entries. Search it with a pattern instead.`,
    )
  }
}

/** The file is not the one that was read: changed, removed or created meanwhile. */
export class FileChangedError extends CapstanError {
  /** The version it has now; undefined: there is no file. */
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

/** One of several changes failed: none was made, or those in `left` could not be undone. `cause`: the first error. */
export class FilesNotChangedError extends CapstanError {
  readonly path: string
  /** How many changes had been made before. */
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

/** The file is not text in UTF-8. */
export class FileNotTextError extends CapstanError {
  constructor(path: string) {
    super(
      'file_not_text',
      `${shownPath(path)} is not UTF-8 text; nothing was read, so that nothing can be lost in turning it into text. ` +
        'Read its bytes.',
    )
  }
}

/** No owner-write bit. A replacement would succeed by renaming, which is not what its owner meant by the mode. */
export class FileReadOnlyError extends CapstanError {
  constructor(path: string) {
    super(
      'file_read_only',
      `${shownPath(path)} is marked read-only. Change its mode first if it is meant to be written.`,
    )
  }
}

/** The call was cancelled before the file was read or written. */
export class FileAbortedError extends CapstanError {
  constructor(path: string) {
    super(
      'file_aborted',
      `The work on ${shownPath(path)} was cancelled before it took effect; nothing was changed.`,
    )
  }
}

/** The system refused. `errno` is its name for the reason; its message is left out, since it holds host paths. */
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
  return version === undefined ? 'is gone since it was read' : 'changed since it was read'
}
