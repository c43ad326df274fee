import { isAbsolute, join, resolve } from 'node:path'
import type { CommandUnit } from '../../authority/shell/analysis.js'
import { analyzeCommand } from '../../authority/shell/analyze-command.js'
import { isHarmless } from './safe-config.js'

/** What a command that consists of git commands can change in the repositories that it works in. */
export type GitWork = {
  /** The directories in which its git commands run, as the shell would resolve them; not resolved to real paths. */
  readonly directories: readonly string[]
  /** The parts of a git directory that are writable beyond what a commit needs. */
  readonly opens: ReadonlySet<'modules' | 'worktrees' | 'new'>
}

/**
 * Parses a command that only runs git, such as `cd sub && git add . && git commit -m "…"`. Only such a command gets a
 * writable git directory, because a rule or a user allowed exactly these git commands. Undefined for every other
 * command, for which git directories are read-only.
 */
export function gitWorkOf(command: string, cwd: string): GitWork | undefined {
  const { units, doubts, invalid } = analyzeCommand(command, { cwd })
  if (invalid !== undefined || doubts.length > 0 || units.length === 0) return undefined
  const directories = new Set<string>()
  const opens = new Set<'modules' | 'worktrees' | 'new'>()
  let changes = false
  for (const unit of units) {
    if (writesToGit(unit)) return undefined
    if (unit.words[0]?.value !== 'git') {
      if (unit.transparent === true || harmlessWithGit.has(unit.words[0]?.value ?? '')) continue
      return undefined
    }
    const call = gitCallOf(unit, cwd)
    if (call === undefined) return undefined
    directories.add(call.directory)
    if (!changing.has(call.subcommand)) continue
    changes = true
    if (call.subcommand === 'submodule') opens.add('modules')
    if (call.subcommand === 'worktree') opens.add('worktrees')
    if (call.subcommand === 'init' || call.subcommand === 'clone') opens.add('new')
  }
  return changes ? { directories: [...directories], opens } : undefined
}

/**
 * Other commands that are allowed with git commands: they print, read, change or create directories, and start nothing.
 */
const harmlessWithGit = new Set(
  'cd true false : echo printf cat pwd ls mkdir head tail grep wc sleep test [ set exit'.split(' '),
)

/** Commands that write to the git directory. Any other name may be an alias, which can run any program. */
const changing = new Set(
  'add am apply bisect branch checkout cherry-pick clean clone commit fetch gc init merge mv notes prune pull push read-tree rebase reflog replace reset restore revert rm stash submodule switch tag update-index update-ref worktree write-tree'.split(
    ' ',
  ),
)

/** A redirection into a file of the project is judged as a separate write; one into a git directory is not git's. */
function writesToGit({ redirections }: CommandUnit): boolean {
  return redirections.some(
    ({ mode, target }) =>
      mode !== 'read' && (target.value === undefined || /(?:^|\/)\.git(?:\/|$)/i.test(target.value)),
  )
}

type GitCall = { readonly directory: string; readonly subcommand: string }

function gitCallOf({ words, assignments, cwd }: CommandUnit, from: string): GitCall | undefined {
  // `GIT_DIR`, `GIT_SSH_COMMAND` and similar variables make git use another repository or program.
  if (cwd === undefined || assignments.length > 0) return undefined
  let directory = isAbsolute(cwd) ? cwd : resolve(from, cwd)
  for (let at = 1; at < words.length; at++) {
    const word = words[at]?.value
    if (word === undefined) return undefined
    if (!word.startsWith('-')) return { directory, subcommand: word }
    if (word === '-C') {
      const target = words[++at]?.value
      if (target === undefined) return undefined
      directory = isAbsolute(target) ? target : join(directory, target)
    } else if (word === '-c') {
      if (!isHarmlessSetting(words[++at]?.value)) return undefined
    } else if (!plainOptions.has(word)) {
      return undefined
    }
  }
  return undefined
}

const plainOptions = new Set([
  '--no-pager',
  '-P',
  '--no-optional-locks',
  '--literal-pathspecs',
  '--no-replace-objects',
])

function isHarmlessSetting(text: string | undefined): boolean {
  const [, section, subsection, key, value] = /^([^.=]+)\.(?:(.+)\.)?([^.=]+)=(.*)$/s.exec(text ?? '') ?? []
  if (section === undefined || key === undefined || value === undefined) return false
  const name = `${section}.${key}`.toLowerCase()
  if (subsection === undefined && turnsOff.has(name)) return value === 'false' || value === '/dev/null'
  return isHarmless({ section: section.toLowerCase(), subsection, key: key.toLowerCase(), value })
}

const turnsOff = new Set(['commit.gpgsign', 'tag.gpgsign', 'core.hookspath', 'core.fsmonitor'])
