import { isRecord } from '../tool/json.js'
import { omitUndefined } from '../tool/omit-undefined.js'

/** A git command of the host. */
export type GitCommand = {
  readonly command: string
  readonly subcommand?: string
  readonly name?: string
  readonly path?: string
  readonly newBranch?: boolean
  readonly base?: string
  readonly force?: boolean
  readonly maxCount?: number
  readonly message?: string
  readonly includeUntracked?: boolean
  readonly target?: string
  readonly ref?: string
}

/** A program that the host runs in a session. */
export type ProgramRequest = {
  readonly source?: string
  /** A `.js`, `.mjs` or `.ts` file of the workspace, instead of the source. */
  readonly path?: string
  readonly language?: 'javascript' | 'typescript'
  readonly inputs?: unknown
  /** The tools that the program can call. Absent: every tool except `program`. */
  readonly allowedTools?: readonly string[]
  readonly limits?: {
    readonly timeoutMs?: number
    readonly maxToolCalls?: number
    readonly maxOutputBytes?: number
  }
}

/** Returns the arguments of the tool `git`, from an object, or from a command and its other arguments by position. */
export function gitArgs(command: string | GitCommand, places: object): Record<string, unknown> {
  const given = isRecord(command) ? (command as GitCommand) : { command: command as string, ...places }
  if (typeof given.command !== 'string') throw new TypeError('git options must include a command field')
  const {
    newBranch: new_branch,
    maxCount: max_count,
    includeUntracked: include_untracked,
    ...rest
  } = given as GitCommand
  return omitUndefined({ ...rest, new_branch, max_count, include_untracked })
}

/** Returns the arguments of the tool `program`. */
export function programArgs({
  allowedTools: allowed_tools,
  ...rest
}: ProgramRequest): Record<string, unknown> {
  return omitUndefined({ type: 'script', ...rest, allowed_tools })
}
