import { CapstanError, markErrorClass } from '../../tool/errors.js'

/** Thrown when the command could not be started at all. The system's own error is in `cause`. */
export class ShellStartError extends CapstanError {
  constructor(message: string, cause?: unknown) {
    super('shell_start_failed', message, cause === undefined ? undefined : { cause })
  }
}

/** Thrown when the requested working directory is not a directory inside the workspace. */
export class ShellDirectoryError extends CapstanError {
  constructor(message: string) {
    super('shell_directory_refused', message)
  }
}

/** Thrown when a variable that the host named for commands cannot be passed on. */
export class ShellEnvironmentError extends CapstanError {
  constructor(message: string) {
    super('shell_environment_refused', message)
  }
}

/** Thrown when no background job has the id. */
export class ShellJobError extends CapstanError {
  constructor(id: string, known: readonly string[]) {
    super(
      'shell_job_unknown',
      known.length === 0
        ? `There is no background job "${id}"; none was started.`
        : `There is no background job "${id}". There are: ${known.join(', ')}.`,
    )
  }
}

/** Thrown when the shell was closed. */
export class ShellClosedError extends CapstanError {
  constructor() {
    super('shell_closed', 'This shell was closed, so it starts no more commands. Open a new session.')
  }
}

markErrorClass(ShellStartError, 'ShellStartError')
markErrorClass(ShellDirectoryError, 'ShellDirectoryError')
markErrorClass(ShellEnvironmentError, 'ShellEnvironmentError')
markErrorClass(ShellJobError, 'ShellJobError')
markErrorClass(ShellClosedError, 'ShellClosedError')
