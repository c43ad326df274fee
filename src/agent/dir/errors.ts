import { CapstanError, markErrorClass } from '../../tool/errors.js'

/** A problem of an agent directory. `file` is relative to the directory; `line` starts at 1. */
export type AgentDirProblem = { readonly file: string; readonly line: number; readonly message: string }

/** An invalid agent directory, with all its problems. Nothing was started. */
export class AgentDirError extends CapstanError {
  /** The problems, sorted by file and line. */
  readonly problems: readonly AgentDirProblem[]

  constructor(directory: string, problems: readonly AgentDirProblem[]) {
    super('agent_dir_invalid', describe(directory, problems))
    this.problems = problems
  }
}

markErrorClass(AgentDirError, 'AgentDirError')

/** The kinds of {@link ScheduleError}. */
export type ScheduleErrorCode = 'schedule_unknown' | 'schedule_stopped' | 'schedule_start_failed'

/** A schedule could not be started, is unknown, or was stopped. */
export class ScheduleError extends CapstanError<ScheduleErrorCode> {}

markErrorClass(ScheduleError, 'ScheduleError')

const maxShown = 50

function describe(directory: string, problems: readonly AgentDirProblem[]): string {
  const shown = problems.slice(0, maxShown).map(({ file, line, message }) => `${file}:${line}: ${message}`)
  if (problems.length > shown.length) shown.push(`and ${problems.length - shown.length} more`)
  return `The agent directory ${directory} cannot be used:\n${shown.map((each) => `- ${each}`).join('\n')}`
}
