import { scratchPattern } from './default-rules.js'
import { commandName } from './destructive-command.js'
import type { Rule } from './rule.js'
import { type Scope, workspaceRoots } from './scope.js'
import type { CommandUnit } from './shell/analysis.js'
import { GIT_GLOBAL } from './shell/hazard-table-git.js'
import { parseOptions } from './shell/option-table.js'

/** Commands that read whole directories, or files whose names they read from their input. */
const always = new Set(
  'rg ag ack ugrep ripgrep tar bsdtar gtar zip 7z 7za 7zr rar rsync scp sftp cpio pax afio ar shar dar restic borg rclone mkisofs genisoimage xorriso mksquashfs ctags cscope'.split(
    ' ',
  ),
)
/** Commands that do so only with an option. */
const recursive = new Set(['grep', 'egrep', 'fgrep', 'zgrep', 'bzgrep', 'xzgrep', 'cp', 'diff', 'install'])

/** Git commands that show no content of files: names, states, commits, settings, or writes to the work tree. */
const gitQuiet = new Set(
  'status branch tag remote rev-parse rev-list ls-files ls-tree merge-base name-rev for-each-ref show-ref count-objects describe check-ignore ls-remote fetch push pull clone init merge rebase checkout switch restore reset mv rm clean cherry-pick revert worktree config version help shortlog reflog log'.split(
    ' ',
  ),
)
/** Options that make commands which list commits show changes. */
const patchOption =
  /^(-[a-zA-Z]*[puUcGSL]|--(patch|unified|cc|combined|word-diff|color-words|binary|full-diff|remerge-diff|diff-merges|patch-with|function-context|pickaxe|textconv|output-indicator))/
const gitCommits = new Set(['log', 'reflog', 'rev-list', 'shortlog'])
/** Options that make commands which show changes show only names and counts. */
const summaryOption =
  /^(--(stat|numstat|shortstat|dirstat|name-only|name-status|summary|quiet|compact-summary|no-patch|exit-code)|-s)(=.*)?$/
const gitChanges = new Set(['diff', 'show', 'diff-tree', 'diff-index', 'diff-files'])

/**
 * Returns whether a command reads whole directories, so that it may read files it does not name. Its text does not
 * show which files, so where rules deny reading some files, the command needs approval.
 */
export function readsTrees(unit: CommandUnit): boolean {
  const name = commandName(unit)
  const args = unit.words.slice(1).map(({ value, text }) => value ?? text)
  if (always.has(name)) return true
  if (name === 'git') return gitReadsTrees(unit)
  const flag = name === 'cp' ? /^-[A-Za-z]*[rRa]/ : /^-[A-Za-z]*[rR]/
  return (
    recursive.has(name) &&
    args.some(
      (arg) =>
        flag.test(arg) ||
        /^--(recursive|archive|dereference-recursive|directories=recurse)/.test(arg) ||
        arg === 'recurse',
    )
  )
}

/** Many git commands show content, so those that certainly show none are listed. */
function gitReadsTrees({ words }: CommandUnit): boolean {
  const [subcommand, ...rest] = parseOptions(GIT_GLOBAL, words.slice(1)).operands
  const name = subcommand?.value ?? ''
  const args = rest.map(({ value, text }) => value ?? text)
  if (gitChanges.has(name)) {
    // `git show HEAD:src/a.ts` shows only that file, which is judged by its name.
    const single =
      name === 'show' &&
      args.every((arg) => !arg.startsWith('-') && /^[^:]+:[^:]*[^:/]$/.test(arg)) &&
      args.length > 0
    return (
      !single && (!args.some((arg) => summaryOption.test(arg)) || args.some((arg) => patchOption.test(arg)))
    )
  }
  // Staged content was judged when it was added.
  if (name === 'commit')
    return args.some((arg) =>
      /^(-[a-z]*[aipov]|--(all|include|patch|only|verbose|interactive|pathspec))/.test(arg),
    )
  if (gitCommits.has(name)) return args.some((arg) => patchOption.test(arg))
  return !gitQuiet.has(name)
}

const readers = new Set(['read', 'fs.read', 'grep', 'glob', 'ls', '*'])

/** Returns whether rules deny reading some files, but not all. */
export function restrictsReading(rules: readonly Rule[]): boolean {
  return rules.some(
    ({ permission, pattern, action }) => action !== 'allow' && pattern !== '*' && readers.has(permission),
  )
}

/** Returns whether rules allow reading some files of the workspace, and none allows all of them. */
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
