import { scratchPattern } from './default-rules.js'
import { commandName } from './destructive-command.js'
import type { Rule } from './rule.js'
import { type Scope, workspaceRoots } from './scope.js'
import type { CommandUnit } from './shell/analysis.js'

/** Commands that read whole directories by themselves. */
const always = new Set(['rg', 'ag', 'ack', 'tar', 'zip', 'rsync', 'scp', 'cpio'])
/** Commands that do so with an option. */
const recursive = new Set(['grep', 'egrep', 'fgrep', 'zgrep', 'cp', 'diff'])
const gitReaders = new Set(['grep', 'archive', 'add', 'stash', 'commit'])

/**
 * Whether a command reads whole directories, so that it may meet files it does not name. Its text cannot show which: where rules keep
 * some files from being read, it has to be asked about.
 */
export function readsTrees(unit: CommandUnit): boolean {
  const name = commandName(unit)
  const args = unit.words.slice(1).map(({ value, text }) => value ?? text)
  if (always.has(name)) return true
  if (name === 'git') return gitReaders.has(args.find((arg) => !arg.startsWith('-')) ?? '')
  const flag = name === 'cp' ? /^-[A-Za-z]*[rRa]/ : /^-[A-Za-z]*[rR]/
  return (
    recursive.has(name) &&
    args.some((arg) => flag.test(arg) || /^--(recursive|archive|dereference-recursive)/.test(arg))
  )
}

const readers = new Set(['read', 'fs.read', 'grep', 'glob', 'ls', '*'])

/** Whether rules keep some files, and not all, from being read. */
export function restrictsReading(rules: readonly Rule[]): boolean {
  return rules.some(
    ({ permission, pattern, action }) => action !== 'allow' && pattern !== '*' && readers.has(permission),
  )
}

/** Whether rules allow some files of the workspace to be read, and none allows all of them. */
export function allowsReadingPart(rules: readonly Rule[], scope: Scope): boolean {
  const roots = workspaceRoots(scope)
  const allows = rules.filter(
    ({ permission, pattern, action }) =>
      action === 'allow' &&
      readers.has(permission) &&
      pattern !== scratchPattern &&
      (!/^[/~]/.test(pattern) || roots.some((root) => pattern.startsWith(root))),
  )
  return allows.length > 0 && !allows.some(({ pattern }) => pattern === '*')
}
