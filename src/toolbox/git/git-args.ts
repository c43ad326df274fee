import { CapstanError, markErrorClass } from '../../tool/errors.js'

export type GitArgs = {
  command: string
  subcommand?: 'list' | 'create' | 'remove' | undefined
  name?: string | undefined
  path?: string | undefined
  ref?: string | undefined
  force?: boolean | undefined
  target?: string | undefined
  max_count?: number | undefined
  message?: string | undefined
  include_untracked?: boolean | undefined
  remote_name?: string | undefined
  new_branch?: boolean | undefined
  base?: string | undefined
}

const gitCommands = ['status', 'log', 'branch', 'checkout', 'diff', 'stash', 'remote', 'worktree'] as const
export type GitCommand = (typeof gitCommands)[number]

/** The arguments of a git call cannot be combined, or are not valid for git. */
export class GitArgumentError extends CapstanError {
  constructor(message: string) {
    super('git_argument_invalid', message)
  }
}

markErrorClass(GitArgumentError, 'GitArgumentError')

/** The arguments that each command accepts: one that would have no effect is refused, not ignored. */
const taken: Readonly<Record<GitCommand, readonly (keyof GitArgs)[]>> = {
  status: [],
  log: ['max_count', 'ref', 'path'],
  branch: ['subcommand', 'name', 'base', 'force'],
  checkout: ['ref', 'force'],
  diff: ['target', 'path'],
  stash: ['message', 'include_untracked'],
  remote: ['remote_name'],
  worktree: ['subcommand', 'name', 'path', 'new_branch', 'base', 'force'],
}

/** Returns the command. Throws when it is unknown, or has an argument that it does not accept or that is unsafe. */
export function checkedCommand(args: GitArgs): GitCommand {
  const command = gitCommands.find((known) => known === args.command)
  if (command === undefined)
    throw new GitArgumentError(`Unknown command: ${args.command}. Use: ${gitCommands.join(', ')}`)
  for (const [name, value] of Object.entries(args)) {
    if (name === 'command' || value === undefined) continue
    const own = taken[command]
    if (!own.some((each) => each === name)) {
      const takes = own.length === 0 ? 'it takes none' : `it takes ${own.join(', ')}`
      throw new GitArgumentError(`${name} has no effect on ${command}; ${takes}`)
    }
    if (typeof value === 'string') checkText(name, value)
  }
  return command
}

const names = new Set(['name', 'ref', 'target', 'base', 'remote_name'])

/** A revision, branch or remote that starts with a dash would be read as an option (SEC-119). */
function checkText(argument: string, value: string): void {
  const shown = JSON.stringify(value.slice(0, 100))
  if (value.includes('\0')) throw new GitArgumentError(`${argument} ${shown} has a NUL character in it`)
  if (!names.has(argument)) return
  if (value === '') throw new GitArgumentError(`${argument} is empty`)
  if (value.startsWith('-'))
    throw new GitArgumentError(`${argument} ${shown} starts with a dash, which git would read as an option`)
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(value))
    throw new GitArgumentError(`${argument} ${shown} has a control character or line end in it`)
}
