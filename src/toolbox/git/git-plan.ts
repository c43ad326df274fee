import { quoteArgv } from '../../authority/quote-argv.js'
import { checkedCommand, type GitArgs, GitArgumentError } from './git-args.js'

/** The plan of a call: the exact text that is judged, approved and run, and what the output is for. */
export type GitPlan = { readonly text: string } & (
  | { readonly kind: 'status' | 'log' | 'branches' | 'stashes' | 'remotes' | 'worktrees' }
  | { readonly kind: 'diff'; readonly names: string; readonly diff: readonly string[] }
  | { readonly kind: 'done'; readonly says: string }
  | { readonly kind: 'stashed' }
  | { readonly kind: 'worktree-made'; readonly name: string; readonly path: string | undefined }
)

const fieldEnd = '%x00'
const defaultCount = 10

/**
 * Returns the command line for a call. Commands that only show something use `status`, `log`, `diff` and `rev-parse`
 * where possible, because modes and rules for reading allow those.
 */
export function planGit(args: GitArgs): GitPlan {
  switch (checkedCommand(args)) {
    case 'status':
      return {
        kind: 'status',
        text: `${git('rev-parse', ...directories)} && ${statusText('normal', 'dirty', '.')}`,
      }
    case 'log':
      return logPlan(args)
    case 'branch':
      return branchPlan(args)
    case 'checkout':
      return checkoutPlan(args)
    case 'diff':
      return diffPlan(args)
    case 'stash':
      return stashPlan(args)
    case 'remote':
      return { kind: 'remotes', text: git('remote', '-v') }
    case 'worktree':
      return worktreePlan(args)
  }
}

const directories = ['--path-format=absolute', '--git-dir', '--git-common-dir', '--show-prefix']

/** Never enters a submodule, because git would start the submodule's own filters. */
function statusText(
  untracked: 'normal' | 'no',
  submodules: 'dirty' | 'all',
  ...paths: readonly string[]
): string {
  return git(
    'status',
    '--porcelain=v2',
    '--branch',
    '-z',
    `--untracked-files=${untracked}`,
    `--ignore-submodules=${submodules}`,
    '--',
    ...paths,
  )
}

function logPlan({ max_count = defaultCount, ref, path }: GitArgs): GitPlan {
  const fields = ['%h', '%an', '%ad', '%s'].join(fieldEnd)
  return {
    kind: 'log',
    text: git(
      'log',
      `--max-count=${max_count}`,
      '--abbrev=7',
      '--date=iso',
      `--format=${fields}${fieldEnd}`,
      ...(ref === undefined ? [] : [ref]),
      ...pathspec(path),
    ),
  }
}

/**
 * Plans two commands: one lists the files, each of which is judged for reading, and one shows their changes. Both are
 * limited to the workspace, which may be only a part of a repository.
 */
function diffPlan({ target, path }: GitArgs): GitPlan {
  const options = ['--no-ext-diff', '--no-textconv', '--no-color', '--ignore-submodules=dirty', '--relative']
  const what = [...(target === undefined ? [] : [target]), ...pathspec(path)]
  const names = git('diff', '--name-only', '-z', '--no-renames', ...options, ...what)
  const diff = ['diff', ...options, ...what]
  return { kind: 'diff', text: `${names} && ${git(...diff)}`, names, diff }
}

/** Returns the second command of a diff, without some files. */
export function diffText(diff: readonly string[], without: readonly string[] = []): string {
  return git(...diff, ...without.map((path) => `:(exclude,literal)${path}`))
}

function branchPlan({ subcommand, name, base, force }: GitArgs): GitPlan {
  if ((subcommand ?? (name === undefined ? 'list' : 'create')) === 'list') {
    refuseUnused('branch list', { name, base, force })
    const list = git('rev-parse', '--symbolic-full-name', '--branches')
    return { kind: 'branches', text: `${statusText('no', 'all')} && ${list}` }
  }
  if (name === undefined) throw new GitArgumentError(`name parameter is required for branch ${subcommand}`)
  if (subcommand === 'remove') {
    refuseUnused('branch remove', { base })
    const text = git('branch', '--delete', ...(force === true ? ['--force'] : []), '--', name)
    return { kind: 'done', text, says: `Deleted branch: ${name}` }
  }
  const from = base ?? 'HEAD'
  const options = ['--no-track', ...(force === true ? ['--force'] : [])]
  const text = git('branch', ...options, '--', name, from)
  return { kind: 'done', text, says: `Created branch: ${name} (based on ${from})` }
}

function checkoutPlan({ ref, force }: GitArgs): GitPlan {
  if (ref === undefined) throw new GitArgumentError('ref parameter is required for checkout')
  // The dashes at the end make git read the name as a revision, never as a file to overwrite.
  const text = git('checkout', ...(force === true ? ['--force'] : []), ref, '--')
  return { kind: 'done', text, says: `Checked out: ${ref}` }
}

function stashPlan({ message, include_untracked }: GitArgs): GitPlan {
  if (message === undefined && include_untracked !== true) {
    const format = `--format=%gd: %gs${fieldEnd}`
    return { kind: 'stashes', text: git('log', '--walk-reflogs', format, 'refs/stash', '--') }
  }
  const options = [
    ...(include_untracked === true ? ['--include-untracked'] : []),
    ...(message === undefined ? [] : [`--message=${message}`]),
  ]
  return { kind: 'stashed', text: git('stash', 'push', ...options) }
}

function worktreePlan(args: GitArgs): GitPlan {
  const { subcommand = 'list', name, path, new_branch = true, base, force } = args
  const forced = force === true ? ['--force'] : []
  if (subcommand === 'list') {
    refuseUnused('worktree list', { name, path, new_branch: args.new_branch, base, force })
    return { kind: 'worktrees', text: git('worktree', 'list', '--porcelain') }
  }
  const place = placeOf(path, name)
  if (subcommand === 'remove') {
    refuseUnused('worktree remove', { new_branch: args.new_branch, base })
    if (place === undefined)
      throw new GitArgumentError(
        'path parameter is required for worktree remove (or the name it was made with)',
      )
    const text = `${git('worktree', 'remove', ...forced, '--')} ${place}`
    return { kind: 'done', text, says: `Removed worktree: ${path ?? name ?? ''}` }
  }
  if (name === undefined || place === undefined)
    throw new GitArgumentError('name parameter (the branch) is required for worktree create')
  if (!new_branch) refuseUnused('worktree create with new_branch: false', { base })
  const text = new_branch
    ? `${git('worktree', 'add', ...forced, '-b', name, '--')} ${place} ${quoteArgv([base ?? 'HEAD'])}`
    : `${git('worktree', 'add', ...forced, '--')} ${place} ${quoteArgv([name])}`
  return { kind: 'worktree-made', text, name, path }
}

/**
 * Returns the path of a new work tree as shell text: next to the workspace when no path is given. A user approves the
 * text as it runs.
 */
function placeOf(path: string | undefined, name: string | undefined): string | undefined {
  if (path === '') throw new GitArgumentError('path is empty')
  if (path !== undefined) return quoteArgv([path])
  return name === undefined ? undefined : `"$PWD"${quoteArgv([defaultSuffix(name)])}`
}

/** Returns the suffix of the workspace's path that names the directory of a new work tree. */
export function defaultSuffix(name: string): string {
  return `-${name.replaceAll('/', '-')}`
}

function git(...args: readonly string[]): string {
  return quoteArgv(['git', ...args])
}

/** Returns a pathspec that matches exactly this path, without patterns or magic. */
function pathspec(path: string | undefined): string[] {
  if (path === '') throw new GitArgumentError('path is empty')
  return path === undefined ? ['--'] : ['--', `:(literal)${path}`]
}

function refuseUnused(what: string, given: Readonly<Record<string, unknown>>): void {
  const extra = Object.keys(given).find((name) => given[name] !== undefined)
  if (extra !== undefined) throw new GitArgumentError(`${extra} has no effect on ${what}`)
}
