import { CapstanError, markErrorClass } from '../../tool/errors.js'

/** A sandbox is required, and this machine cannot give one. */
export class SandboxUnavailableError extends CapstanError {
  constructor(reason: string, advice: string) {
    super(
      'sandbox_unavailable',
      `Commands must run in a sandbox here, and there is none: ${reason}. ${advice}`,
    )
  }
}

/** The workspace is a directory that cannot be kept apart from the rest of the machine. */
export class SandboxRootError extends CapstanError {
  constructor(root: string, why: string) {
    super(
      'sandbox_root_refused',
      `${root} cannot be the workspace of a sandbox: ${why}. Open a directory of its own, such as one project.`,
    )
  }
}

markErrorClass(SandboxUnavailableError, 'SandboxUnavailableError')
markErrorClass(SandboxRootError, 'SandboxRootError')
