import { CapstanError, markErrorClass } from '../../tool/errors.js'

/** Thrown when a sandbox is required, and none works on this machine. */
export class SandboxUnavailableError extends CapstanError {
  constructor(reason: string, advice: string) {
    super(
      'sandbox_unavailable',
      `Commands must run in a sandbox here, and there is none: ${reason}. ${advice}`,
    )
  }
}

/** Thrown when the workspace is a directory that cannot be isolated from the rest of the machine. */
export class SandboxRootError extends CapstanError {
  constructor(root: string, why: string) {
    super(
      'sandbox_root_refused',
      `${root} cannot be the workspace of a sandbox: ${why}. Open a directory of its own, such as one project.`,
    )
  }
}

/** Thrown when a directory has more entries than can be checked before each command. */
export class TreeTooLargeError extends CapstanError {
  constructor(root: string, directories: number) {
    super(
      'sandbox_tree_too_large',
      `The command was not run: ${root} has more than ${directories} directories, and sockets and denied files among them could not all be hidden. Open a smaller directory, or set sandbox to "off".`,
    )
  }
}

/** Thrown when more paths must be hidden than a sandbox can have mounts. */
export class TooManyMasksError extends CapstanError {
  constructor(count: number, most: number) {
    super(
      'sandbox_too_many_masks',
      `The command was not run: ${count} files are denied by rules or are sockets of the host, and a sandbox can hide ${most}. Deny the directories they are in instead of the single files.`,
    )
  }
}

markErrorClass(TreeTooLargeError, 'TreeTooLargeError')
markErrorClass(TooManyMasksError, 'TooManyMasksError')
markErrorClass(SandboxUnavailableError, 'SandboxUnavailableError')
markErrorClass(SandboxRootError, 'SandboxRootError')
