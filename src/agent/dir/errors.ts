import { CapstanError, markErrorClass } from '../../tool/errors.js'

/** One thing that is wrong with an agent directory. `file` is relative to the directory; `line` counts from 1. */
export type AgentDirProblem = { readonly file: string; readonly line: number; readonly message: string }

/** An agent directory that cannot be used, with everything that is wrong with it. Nothing of it was started. */
export class AgentDirError extends CapstanError {
  /** By file and line. */
  readonly problems: readonly AgentDirProblem[]

  constructor(directory: string, problems: readonly AgentDirProblem[]) {
    super('agent_dir_invalid', describe(directory, problems))
    this.problems = problems
  }
}

markErrorClass(AgentDirError, 'AgentDirError')

export type ScheduleErrorCode = 'schedule_unknown' | 'schedule_stopped' | 'schedule_start_failed'

/** A schedule could not be started, or cannot do what was asked of it. */
export class ScheduleError extends CapstanError {
  declare readonly code: ScheduleErrorCode

  constructor(code: ScheduleErrorCode, message: string, options?: { cause?: unknown }) {
    super(code, message, options)
  }
}

markErrorClass(ScheduleError, 'ScheduleError')

const maxShown = 50

function describe(directory: string, problems: readonly AgentDirProblem[]): string {
  const told = problems.slice(0, maxShown).map(({ file, line, message }) => `${file}:${line}: ${message}`)
  if (problems.length > told.length) told.push(`and ${problems.length - told.length} more`)
  return `The agent directory ${directory} cannot be used:\n${told.map((each) => `- ${each}`).join('\n')}`
}
