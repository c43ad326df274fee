import { dirname } from 'node:path'
import { CapstanError } from '../../tool/errors.js'
import { gitEntry } from './git-directory.js'
import { harmfulNested } from './guarded-directories.js'
import { RepositoryScan } from './repository-scan.js'

/** The error for a nested repository that could make git start a program, without a sandbox to prevent it. */
export function nestedRefused(what: string): CapstanError {
  return new CapstanError(
    'nested_repository_refused',
    `Git was not run: ${what}, which could start a program in a nested repository. Remove the setting, run the command in a sandbox, or run it yourself.`,
  )
}

/** Throws for a git command that reads nested repositories, if one of them could make git start a program. */
export async function refuseNested(command: string, cwd: string): Promise<void> {
  if (!looksIntoNested(command)) return
  const found = await new RepositoryScan(topOf(cwd)).run()
  const harm = harmfulNested(cwd, found)
  if (harm !== undefined) throw nestedRefused(harm)
}

/** Whether a command calls git in a way that can read nested repositories. */
export function looksIntoNested(command: string): boolean {
  return /\bgit (?:checkout|stash|worktree|switch|reset|merge|pull|rebase)\b/.test(command)
}

function topOf(cwd: string): string {
  for (let at = cwd; at !== dirname(at); at = dirname(at)) if (gitEntry(at) !== undefined) return at
  return cwd
}
