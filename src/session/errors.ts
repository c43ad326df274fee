import { CapstanError, markErrorClass } from '../tool/errors.js'

export { SessionOptionError } from '../feature/option-error.js'

/** Thrown when the session, or its agent, was closed. */
export class SessionClosedError extends CapstanError {
  constructor(sessionId: string) {
    super('session_closed', `Session closed: '${sessionId}' takes no more calls. Open another one.`)
  }
}

markErrorClass(SessionClosedError, 'SessionClosedError')

/** Thrown when a run is active, and the session does not queue runs, or the operation is not possible during a run. */
export class SessionBusyError extends CapstanError {
  constructor(sessionId: string, doing?: string) {
    const next =
      doing === undefined
        ? "Wait for it, cancel it, or use whenBusy: 'queue'."
        : `Wait for it or cancel it before ${doing}.`
    super('session_busy', `Session '${sessionId}' already has an active operation. ${next}`)
  }
}

markErrorClass(SessionBusyError, 'SessionBusyError')

/** Thrown when the session already has a run with the given id. */
export class RunExistsError extends CapstanError {
  constructor(sessionId: string, runId: string) {
    super(
      'run_exists',
      `Session '${sessionId}' already has a run '${runId}'. Read it, or start one with another id.`,
    )
  }
}

markErrorClass(RunExistsError, 'RunExistsError')

/** Thrown when a direct call that returns text failed. */
export class ToolFailedError extends CapstanError {
  readonly toolName: string

  constructor(toolName: string, message: string) {
    super('tool_failed', message)
    this.toolName = toolName
  }
}

markErrorClass(ToolFailedError, 'ToolFailedError')

/** Thrown when a run cannot be resumed; the code shows whether it can be resumed later. */
export class ResumeError extends CapstanError<'no_session_store' | 'no_checkpoint'> {}

markErrorClass(ResumeError, 'ResumeError')
