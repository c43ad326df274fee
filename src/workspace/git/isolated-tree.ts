import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { chmod, mkdir, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join, posix, resolve } from 'node:path'
import { CapstanError, messageOf } from '../../tool/errors.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import { isInside } from '../inside.js'
import { safeBase, worktreeBase } from '../scratch/base-directory.js'
import type { LocalShell } from '../shell/index.js'
import { isAlive, processScope, readProcess } from '../shell/process-table.js'

/** A checkout of the last commit in a separate directory, for work that must not change the repository. */
export type IsolatedTree = {
  /** The directory that corresponds to the workspace root: the checkout, or a directory in it. */
  readonly root: string
  /** The commit that was checked out. */
  readonly base: string
  /**
   * Returns the differences from that commit, including untracked files, without ignored files and submodules. Files
   * for which `isHidden` returns true, by their path from the workspace root, are listed but omitted from the patch.
   */
  changes(isHidden?: (path: string) => boolean): Promise<TreeChanges>
  /** Removes the checkout from the disk. */
  remove(): Promise<void>
}

/** The changes that were made in an isolated tree. */
export type TreeChanges = {
  readonly files: readonly TreeChange[]
  /** A patch in git's format. Paths are relative to the workspace root. */
  readonly patch: string
  /** What git could not read, such as a repository without a commit: it is not in the patch. */
  readonly problem?: string | undefined
}

export type TreeChange = {
  readonly path: string
  readonly status: 'added' | 'modified' | 'deleted'
  /** Whether the file is omitted from the patch. */
  readonly isHidden: boolean
  /** Whether these bytes are the content that the commit has for this path. */
  wasBase(bytes: Uint8Array): boolean
}

class GitFailedError extends CapstanError {
  readonly exitCode: unknown
  readonly words: string

  constructor(exitCode: unknown, words: string) {
    super('isolation_unavailable', `git failed: ${words}`)
    this.exitCode = exitCode
    this.words = words
  }
}

/**
 * Checks out the last commit of the workspace's repository. The checkout is a separate repository that only shares the
 * objects: it has none of the hooks, filters and settings of the original, and nothing in it can change the original.
 * The repository of the workspace is only read, and programs that its settings name are not started.
 */
export async function createIsolatedTree(
  shell: Pick<LocalShell, 'run'>,
  workspace: string,
  signal?: AbortSignal,
): Promise<IsolatedTree> {
  const source = await describeRepository(shell, workspace, signal)
  const base = await treesDirectory()
  const name = `${process.pid}-${randomBytes(9).toString('hex')}`
  const directory = join(base, name)
  await mkdir(directory, { mode: 0o700 })
  const tree = join(directory, 'tree')
  // Work in the tree can change the settings of `tree/.git`, so a different repository is used for the comparison.
  const judge = join(directory, 'judge.git')
  const remove = (): Promise<void> => removeTree(directory)
  try {
    await writeFile(join(directory, 'owner'), ownerText())
    const init = ['init', '--quiet', '--template=', `--object-format=${source.objectFormat}`]
    await git(directory, [...init, tree])
    await git(directory, [...init, '--bare', judge])
    for (const gitDirectory of [join(tree, '.git'), judge]) {
      await mkdir(join(gitDirectory, 'objects/info'), { recursive: true })
      await writeFile(join(gitDirectory, 'objects/info/alternates'), `${source.objects}\n`)
    }
    await git(tree, ['update-ref', '--no-deref', 'HEAD', source.commit])
    await git(tree, ['reset', '--quiet', '--hard', source.commit])
    const root = source.prefix === '' ? tree : join(tree, source.prefix)
    await mkdir(root, { recursive: true })
    return {
      root: await realpath(root),
      base: source.commit,
      changes: (isHidden = () => false) => changesOf({ judge, tree, root }, source, isHidden),
      remove,
    }
  } catch (error) {
    await remove()
    throw error
  }
}

/** Removes the trees of processes that were killed. Returns how many there were. */
export async function removeDeadTrees(): Promise<number> {
  if (!existsSync(join(worktreeBase(), 'worktrees'))) return 0
  // Another user could have created the directory in /tmp, with a link in it to files of this user.
  const base = await treesDirectory()
  let removed = 0
  for (const name of await readdir(base)) {
    const directory = join(base, name)
    if (!treeName.test(name) || isOwned(directory)) continue
    // A tree that cannot be removed does not prevent the removal of the others.
    const isRemoved = await removeTree(directory).then(
      () => true,
      () => false,
    )
    if (isRemoved) removed++
  }
  return removed
}

/** Removes a directory, including read-only subdirectories, such as a cache of Go modules. */
async function removeTree(directory: string): Promise<void> {
  const remove = (): Promise<void> => rm(directory, { recursive: true, force: true, maxRetries: 3 })
  try {
    await remove()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'EACCES' && code !== 'EPERM') throw error
    await openDirectories(directory)
    await remove()
  }
}

async function openDirectories(directory: string): Promise<void> {
  await chmod(directory, 0o700)
  for (const entry of await readdir(directory, { withFileTypes: true }))
    if (entry.isDirectory()) await openDirectories(join(directory, entry.name))
}

/** The process ID, and random characters. */
const treeName = /^(\d+)-[\da-z]+$/

type Source = {
  readonly commit: string
  readonly objects: string
  readonly objectFormat: 'sha1' | 'sha256'
  /** The path of the workspace in the repository; empty for its root. */
  readonly prefix: string
}

/** Queries the repository with git, in the sandbox of the workspace, without programs that its settings name. */
async function describeRepository(
  shell: Pick<LocalShell, 'run'>,
  workspace: string,
  signal: AbortSignal | undefined,
): Promise<Source> {
  const command =
    'git rev-parse --path-format=absolute --show-object-format --git-common-dir --git-dir --show-toplevel --show-prefix && git rev-parse --verify --quiet HEAD^{commit}'
  const { exitCode, output } = await shell.run(command, {
    timeoutMs,
    guardGit: true,
    ...omitUndefined({ signal }),
  })
  const [format, common = '', own = '', top = '', prefix = '', commit = ''] = output.split('\n')
  if (exitCode !== 0 || !/^[\da-f]{40,64}$/.test(commit) || (format !== 'sha1' && format !== 'sha256'))
    throw new CapstanError(
      'isolation_unavailable',
      `The workspace ${workspace} cannot be checked out a second time: it must be in a git repository with at least one commit.`,
    )
  if (!(await belongsTo(common, own, top)) || (await leadsOut(common, own)))
    throw new CapstanError(
      'isolation_unavailable',
      'The workspace cannot be checked out a second time: its .git leads to a repository that does not name this workspace.',
    )
  const objects = await realpath(join(common, 'objects'))
  return { commit, objects, objectFormat: format, prefix: prefix.replace(/\/$/, '') }
}

/**
 * Whether a repository lists this worktree as its own. A `.git` file in the workspace can name any repository of this
 * machine, so its content alone is not trusted.
 */
async function belongsTo(common: string, own: string, top: string): Promise<boolean> {
  const root = await realpath(top)
  const repository = await realpath(common)
  if (isInside(root, repository)) return true
  const listed = await realpath(own)
  if (dirname(listed) !== join(repository, 'worktrees')) return false
  const back = await readFile(join(listed, 'gitdir'), 'utf8').catch(() => '')
  return back !== '' && dirname(resolve(listed, back.trim())) === root
}

/** Whether a link in the repository makes a commit or objects of another repository appear as its own. */
async function leadsOut(common: string, own: string): Promise<boolean> {
  const repository = await realpath(common)
  const links = await Promise.all([
    linksIn(repository, ['packed-refs', 'refs', 'objects']),
    linksIn(await realpath(own), ['HEAD', 'refs']),
    linksIn(join(repository, 'objects')),
    linksBelow(join(repository, 'refs')),
  ])
  return links.includes(true)
}

async function linksIn(directory: string, names?: readonly string[]): Promise<boolean> {
  const entries = await readdir(directory, { withFileTypes: true })
  return entries.some((entry) => entry.isSymbolicLink() && (names?.includes(entry.name) ?? true))
}

async function linksBelow(directory: string): Promise<boolean> {
  const entries = await readdir(directory, { withFileTypes: true, recursive: true })
  return entries.some((entry) => entry.isSymbolicLink())
}

type Places = { readonly judge: string; readonly tree: string; readonly root: string }

async function changesOf(
  { judge, tree, root }: Places,
  source: Source,
  isHidden: (path: string) => boolean,
): Promise<TreeChanges> {
  const { commit, objectFormat, prefix } = source
  const own = [`--git-dir=${judge}`, `--work-tree=${tree}`]
  await git(tree, [...own, 'read-tree', commit])
  const problem = await addAll(tree, own, commit)
  const diff = [
    ...own,
    'diff',
    '--cached',
    '--no-renames',
    '--no-ext-diff',
    '--no-textconv',
    '--no-color',
    '--relative',
  ]
  const raw = await git(root, [...diff, '--raw', '-z', '--no-abbrev', commit, '--'])
  const fields = raw.toString('utf8').split('\0')
  const files: TreeChange[] = []
  const asBefore: string[] = []
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [mode = '', , before = '', , letter = ''] = (fields[at] ?? '').split(' ')
    const path = fields[at + 1] ?? ''
    const status = letter === 'A' ? 'added' : letter === 'D' ? 'deleted' : 'modified'
    const hidden = isHidden(path)
    files.push({
      path,
      status,
      isHidden: hidden,
      wasBase: (bytes) => blobId(bytes, objectFormat) === before,
    })
    if (hidden) asBefore.push(`${mode.replace(/^:0*(?=.)/, '')} ${before}\t${posix.join(prefix, path)}\0`)
  }
  if (asBefore.length > 0) await git(tree, [...own, 'update-index', '-z', '--index-info'], asBefore.join(''))
  const patch = await git(root, [...diff, '--binary', '--full-index', commit, '--'])
  return { files, patch: patch.toString('utf8'), problem }
}

/**
 * Adds the content of the tree, except submodules: for each of them git would read the state, with the settings and
 * filters of its repository. Returns what could not be added.
 */
async function addAll(tree: string, own: readonly string[], commit: string): Promise<string | undefined> {
  const entries = (await git(tree, [...own, 'ls-tree', '-r', '-z', commit])).toString('utf8').split('\0')
  const submodules = entries.flatMap((entry) => /^160000 commit [\da-f]+\t(.+)$/s.exec(entry)?.[1] ?? [])
  const paths = ['.', ...submodules.map((path) => `:(exclude,top,literal)${path}`)].join('\0')
  const add = ['add', '--all', '--ignore-errors', '--pathspec-from-file=-', '--pathspec-file-nul']
  try {
    await git(tree, [...own, ...add], paths)
    return undefined
  } catch (error) {
    if (error instanceof GitFailedError && error.exitCode === 1) return error.words
    throw error
  }
}

function blobId(bytes: Uint8Array, format: 'sha1' | 'sha256'): string {
  return createHash(format).update(`blob ${bytes.length}\0`).update(bytes).digest('hex')
}

const timeoutMs = 60_000
const maxPatchBytes = 64 * 1024 * 1024

/** Runs git without the settings of the user and the machine. It never works on a repository of the user. */
function git(directory: string, args: readonly string[], input = ''): Promise<Buffer> {
  const off = ['core.hooksPath=/dev/null', 'core.fsmonitor=false', 'submodule.recurse=false', 'gc.auto=0']
  const all = [...off.flatMap((setting) => ['-c', setting]), ...args]
  const env = {
    PATH: process.env['PATH'],
    HOME: '/nonexistent',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_OPTIONAL_LOCKS: '0',
    LC_ALL: 'C',
  }
  return new Promise((done, failed) => {
    const child = execFile(
      'git',
      all,
      { cwd: directory, env, encoding: 'buffer', maxBuffer: maxPatchBytes, timeout: timeoutMs * 5 },
      (error, stdout, stderr) => {
        if (error === null) return done(stdout)
        const words = stderr.toString('utf8').trim().slice(0, 1_000)
        failed(new GitFailedError(error.code, words === '' ? messageOf(error) : words))
      },
    )
    // Git can end before it has read all input.
    child.stdin?.on('error', () => undefined)
    child.stdin?.end(input)
  })
}

async function treesDirectory(): Promise<string> {
  const directory = join(await safeBase(worktreeBase()), 'worktrees')
  return safeBase(directory)
}

function ownerText(): string {
  const { startTime = '' } = readProcess(process.pid) ?? {}
  return `${process.pid}\n${startTime}\n${processScope()}\n`
}

/** Whether the tree belongs to a process that may still be running. Unknown counts as yes. */
function isOwned(directory: string): boolean {
  const owner = readOwner(directory)
  // The process was killed before it wrote the owner file, or is just about to write it: its ID is in the name.
  if (owner === undefined) return isRunning(Number(treeName.exec(basename(directory))?.[1]))
  const [boot, namespace] = owner.scope.split('/')
  const [ownBoot, ownNamespace] = processScope().split('/')
  // The tree is from before the last boot. In another container, the process ID means nothing here.
  if (boot !== ownBoot) return boot === 'unknown' || ownBoot === 'unknown'
  if (namespace !== ownNamespace) return true
  return owner.startTime === '' ? isRunning(owner.pid) : isAlive(owner)
}

type Owner = { readonly pid: number; readonly startTime: string; readonly scope: string }

function readOwner(directory: string): Owner | undefined {
  let text: string
  try {
    text = readFileSync(join(directory, 'owner'), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  const [pid, startTime, ...scope] = text.trimEnd().split('\n')
  return scope.length === 1
    ? { pid: Number(pid), startTime: startTime ?? '', scope: scope[0] ?? '' }
    : undefined
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
