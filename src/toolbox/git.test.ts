import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { sharedDirectory } from '../../test/support/temporary-directory.js'
import { type ToolboxWorkspace, toolboxWorkspace } from '../../test/toolbox/workspace.js'
import { toToolResult } from '../tool/tool-result.js'
import { gitTool } from './git.js'

const usual = sharedDirectory()
let space: ToolboxWorkspace
beforeEach(async () => {
  space = await toolboxWorkspace({ 'a.txt': 'one\n' })
})

const own = ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.test', '-c', 'core.hooksPath=/dev/null']
const git = (...args: string[]): string => gitIn(space.root, ...args)
function gitIn(cwd: string, ...args: string[]): string {
  const env = { PATH: process.env['PATH'], HOME: dirname(cwd), GIT_CONFIG_NOSYSTEM: '1' }
  return execFileSync('git', [...own, ...args], { cwd, encoding: 'utf8', env, stdio: 'pipe' })
}
/** Makes the workspace a repository with everything in it committed. The usual one is made once and copied. */
function repository(): void {
  if (readdirSync(space.root).join() !== 'a.txt') {
    commitAll(space.root)
    return
  }
  if (!existsSync(join(usual, 'a.txt'))) {
    copyFileSync(join(space.root, 'a.txt'), join(usual, 'a.txt'))
    commitAll(usual)
  }
  cpSync(join(usual, '.git'), join(space.root, '.git'), { recursive: true })
}
function commitAll(directory: string): void {
  gitIn(directory, 'init', '-q', '-b', 'main')
  gitIn(directory, 'add', '.')
  gitIn(directory, 'commit', '-q', '-m', 'first commit')
}
/** Sets values as `git config` does, without a process for each. */
function configure(values: Readonly<Record<string, string>>): void {
  const lines = Object.entries(values).map(([key, value]) => {
    const [section = '', ...rest] = key.split('.')
    const name = rest.pop()
    const subsection = rest.length === 0 ? '' : ` "${rest.join('.')}"`
    return `[${section}${subsection}]\n\t${name} = ${JSON.stringify(value)}\n`
  })
  appendFileSync(join(space.root, '.git/config'), lines.join(''))
}
async function run(
  args: Record<string, unknown>,
): Promise<{ text: string; exitCode: number; metadata: unknown }> {
  const { output, exitCode, metadata } = toToolResult('git', await space.call(gitTool, args))
  return { text: output, exitCode, metadata }
}
const say = async (args: Record<string, unknown>): Promise<string> => (await run(args)).text

describe('status', () => {
  it('is five aligned lines', async () => {
    repository()
    const head = git('rev-parse', '--short=7', 'HEAD').trim()
    const { text, metadata } = await run({ command: 'status' })
    expect(text).toBe(
      `Workspace: ${space.root}\nBranch:    main\nCommit:    ${head}\nStatus:    clean\nWorktree:  no (main)`,
    )
    expect(metadata).toMatchObject({ branch: 'main', is_worktree: false, dirty_count: 0, is_dirty: false })
  })

  it('counts and names uncommitted changes', async () => {
    repository()
    writeFileSync(join(space.root, 'a.txt'), 'two\n')
    writeFileSync(join(space.root, 'neu ß.txt'), '')
    writeFileSync(join(space.root, 'b'), 'b')
    git('add', 'b')
    git('mv', 'b', 'line\nend')
    const { text, metadata } = await run({ command: 'status' })
    expect(text).toContain('Status:    3 uncommitted change(s)')
    expect(metadata).toMatchObject({ dirty_count: 3, is_dirty: true })
    const changes = [' M a.txt', 'A  "line\\nend"', '?? neu ß.txt']
    expect(metadata).toHaveProperty('changes', changes)
    expect(text.split('\n').slice(5)).toEqual(['', ...changes])
  })

  it('counts a rename once', async () => {
    repository()
    git('mv', 'a.txt', 'z.txt')
    expect(await run({ command: 'status' })).toMatchObject({
      metadata: { dirty_count: 1, changes: ['R  z.txt'] },
    })
  })

  it('works before the first commit, on a detached HEAD and in a linked work tree', async () => {
    git('init', '-q', '-b', 'main')
    expect(await say({ command: 'status' })).toContain('Branch:    main\nCommit:    (no commits yet)')
    git('add', '.')
    git('commit', '-q', '-m', 'x')
    git('checkout', '-q', '--detach')
    const detached = await run({ command: 'status' })
    expect(detached.text).toContain('Branch:    HEAD (detached)')
    expect(detached.metadata).toMatchObject({ branch: null })
    expect(await say({ command: 'branch' })).toBe('Branches:\n* (detached HEAD)\n  main')
  })

  it('reports that there is no repository', async () => {
    for (const command of ['status', 'log', 'branch', 'diff', 'stash', 'remote', 'worktree']) {
      const { text, exitCode } = await run({ command })
      expect([text, exitCode]).toEqual([`Not a git repository: ${space.root}`, 1])
    }
  })
})

describe('log and diff', () => {
  it('shows commits, newest first, up to max_count', async () => {
    repository()
    git('commit', '-q', '--allow-empty', '-m', 'zweiter: äöü "quoted"\n\nbody')
    const text = await say({ command: 'log' })
    expect(text).toMatch(
      /^Commit log \(2 entries from offset 0\):\n[0-9a-f]{7} - Ann \(\d{4}-\d\d-\d\d [\d: +-]+\)\n {2}zweiter: äöü "quoted"\n[0-9a-f]{7} - Ann \(.*\)\n {2}first commit$/,
    )
    expect(await say({ command: 'log', max_count: 1 })).toContain('(1 entries')
    expect(await say({ command: 'log', ref: 'HEAD~1' })).not.toContain('zweiter')
    expect(await say({ command: 'log', path: 'a.txt' })).not.toContain('zweiter')
    expect(await run({ command: 'log', ref: 'nope' })).toMatchObject({ exitCode: 128 })
  })

  it('has nothing to show before the first commit', async () => {
    git('init', '-q')
    expect(await say({ command: 'log' })).toBe('No commits yet.')
    expect(await say({ command: 'branch' })).toContain('No branches yet')
    expect(await say({ command: 'diff' })).toBe('No changes.')
  })

  it('shows changes', async () => {
    repository()
    expect(await say({ command: 'diff' })).toBe('No changes.')
    writeFileSync(join(space.root, 'a.txt'), 'two\n')
    writeFileSync(join(space.root, '*.txt'), 'star\n')
    git('add', '-N', '*.txt')
    const text = await say({ command: 'diff', path: 'a.txt' })
    expect(text).toContain('-one\n+two\n')
    expect(text).not.toContain('star')
    const literal = await say({ command: 'diff', path: '*.txt' })
    expect(literal).toContain('star')
    expect(literal).not.toContain('one')
    expect(await say({ command: 'diff', target: 'HEAD' })).toContain('+two')
  })

  it('saves a long diff in a file', async () => {
    repository()
    writeFileSync(join(space.root, 'a.txt'), 'x'.repeat(99).concat('\n').repeat(5_000))
    const envelope = await space.call(gitTool, { command: 'diff' })
    expect(envelope.metadata.truncated).toBe(true)
    expect(envelope).toHaveProperty('data.head')
    expect(readFileSync(envelope.metadata.output_path ?? '', 'utf8').length).toBeGreaterThan(500_000)
  })
})

describe('read permissions', () => {
  it('omit from a diff the files that are denied, and report it', async () => {
    const closed = await toolboxWorkspace(
      { '.env': 'KEY=old\n', 'a.txt': 'one\n', 'gone/.env': 'KEY=gone\n' },
      { permit: { path: (_, path) => (path.endsWith('/.env') ? 'it is secret' : undefined) } },
    )
    await space.close()
    space = closed
    repository()
    writeFileSync(join(space.root, '.env'), 'KEY=new\n')
    rmSync(join(space.root, 'gone'), { recursive: true })
    expect(await say({ command: 'diff' })).toBe('Left out, since reading is refused: .env, gone/.env')
    writeFileSync(join(space.root, 'a.txt'), 'two\n')
    const text = await say({ command: 'diff' })
    expect(text).toContain('+two')
    expect(text).toContain('Left out, since reading is refused: .env, gone/.env')
    expect(text).not.toContain('KEY')
    git('mv', '.env', 'open.txt')
    expect(await say({ command: 'diff', target: 'HEAD' })).not.toContain('KEY=old')
    expect(gitTool.touches?.({ command: 'diff', path: '.env' })).toContainEqual({ fs: 'read', path: '.env' })
  })

  it('stop at the workspace when it is a part of a repository', async () => {
    const above = dirname(space.root)
    writeFileSync(join(above, 'outer'), 'SECRET\n')
    git('init', '-q', '-b', 'main', '..')
    git('add', '../outer', '.')
    git('commit', '-q', '-m', 'all')
    writeFileSync(join(above, 'outer'), 'MORE\n')
    writeFileSync(join(space.root, 'a.txt'), 'two\n')
    expect(await say({ command: 'diff' })).toMatch(/^diff --git a\/a\.txt b\/a\.txt\n.*\+two\n$/s)
    expect(await say({ command: 'diff' })).not.toMatch(/SECRET|MORE/)
    expect((await say({ command: 'status' })).split('\n').slice(5)).toEqual(['', ' M a.txt'])
  })
})

describe('branch and checkout', () => {
  it('creates, lists, switches and removes', async () => {
    repository()
    expect(await say({ command: 'branch', name: 'dev/ü' })).toBe('Created branch: dev/ü (based on HEAD)')
    expect(await say({ command: 'branch' })).toBe('Branches:\n  dev/ü\n* main')
    expect(await say({ command: 'checkout', ref: 'dev/ü' })).toBe('Checked out: dev/ü')
    expect(await say({ command: 'branch', subcommand: 'list' })).toBe('Branches:\n* dev/ü\n  main')
    expect(await say({ command: 'branch', subcommand: 'remove', name: 'main' })).toBe('Deleted branch: main')
  })

  it('reports what is missing or wrong', async () => {
    repository()
    expect(await say({ command: 'checkout' })).toContain('ref parameter is required for checkout')
    expect(await say({ command: 'commit' })).toContain(
      'Unknown command: commit. Use: status, log, branch, checkout, diff, stash, remote, worktree',
    )
    expect(await say({ command: 'checkout', ref: 'gone' })).toContain('git checkout failed:')
    expect(await say({ command: 'branch', name: 'a..b' })).toContain('git branch failed:')
    expect(await say({ command: 'status', ref: 'main' })).toContain('ref has no effect on status')
    expect(await say({ command: 'branch', subcommand: 'create' })).toContain('name parameter is required')
  })

  it('never confuses a file with a branch', async () => {
    repository()
    writeFileSync(join(space.root, 'a.txt'), 'precious\n')
    expect(await say({ command: 'checkout', ref: 'a.txt' })).toContain('git checkout failed')
    expect(readFileSync(join(space.root, 'a.txt'), 'utf8')).toBe('precious\n')
  })
})

describe('stash', () => {
  it('lists without a message, and creates a stash with one', async () => {
    repository()
    expect(await say({ command: 'stash' })).toBe('No stashes found.')
    expect(await say({ command: 'stash', message: 'm' })).toBe('No local changes to save.')
    writeFileSync(join(space.root, 'a.txt'), 'two\n')
    writeFileSync(join(space.root, 'new.txt'), '')
    expect(await say({ command: 'stash', message: "it's $(here)" })).toBe('Created stash')
    expect(await say({ command: 'stash' })).toBe("Stashes:\n  stash@{0}: On main: it's $(here)")
    expect(await say({ command: 'stash', include_untracked: true })).toBe('Created stash')
    expect(existsSync(join(space.root, 'new.txt'))).toBe(false)
    expect((await say({ command: 'stash' })).split('\n')).toHaveLength(3)
  })
})

describe('remote', () => {
  it('shows no credentials', async () => {
    repository()
    expect(await say({ command: 'remote' })).toBe('No remotes configured.')
    configure({
      'remote.origin.url': 'https://me:hunter2@example.test/r.git?token=abc#frag',
      'remote.token.url': 'https://ghp_secret@example.test/r.git',
      'remote.ssh.url': 'ssh://git:hunter3@example.test/r.git',
      'remote.scp.url': 'git@example.test:r.git',
    })
    const text = await say({ command: 'remote' })
    expect(text).not.toMatch(/hunter|secret|abc|frag|me:/)
    expect(text).toContain('origin\thttps://example.test/r.git (fetch)')
    expect(text).toContain('ssh\tssh://git@example.test/r.git (push)')
    expect(text).toContain('scp\tgit@example.test:r.git (fetch)')
    expect((await say({ command: 'remote', remote_name: 'token' })).split('\n')).toHaveLength(2)
    expect(await say({ command: 'remote', remote_name: 'nope' })).toContain(
      'There are: origin, scp, ssh, token',
    )
  })
})

describe('worktree', () => {
  it('is created next to the workspace, listed and removed', async () => {
    repository()
    const sibling = `${space.root}-feat-x`
    expect(await say({ command: 'worktree', subcommand: 'create', name: 'feat/x' })).toBe(
      `Created worktree: ${sibling} (branch: feat/x)`,
    )
    expect(existsSync(join(sibling, 'a.txt'))).toBe(true)
    expect(await say({ command: 'worktree' })).toMatch(
      /^Worktrees:\n {2}\/.*work {2}[0-9a-f]{7} \[main\]\n {2}.*-feat-x/,
    )
    expect(await say({ command: 'worktree', subcommand: 'remove', name: 'feat/x' })).toContain('Removed')
    expect(existsSync(sibling)).toBe(false)
  })

  it('is created at the given path for a branch that exists, and works there', async () => {
    repository()
    git('branch', 'old')
    const args = {
      command: 'worktree',
      subcommand: 'create',
      name: 'old',
      path: "-it's odd",
      new_branch: false,
    }
    expect(await say(args)).toBe("Created worktree: -it's odd (branch: old)")
    git('commit', '-q', '--allow-empty', '-m', 'x')
    expect(await say({ command: 'worktree', subcommand: 'create' })).toContain('name parameter')
    expect(await say({ command: 'worktree', subcommand: 'remove', path: "-it's odd" })).toContain('Removed')
  })

  it('is recognised when the workspace is one', async () => {
    repository()
    git('worktree', 'add', '-q', '-b', 'linked', '../linked')
    const { openWorkspace } = await import('../workspace/open-workspace.js')
    const base = dirname(space.root)
    const linked = openWorkspace({
      root: join(base, 'linked'),
      sandbox: 'off',
      scratchDir: join(base, 'scratch2'),
      ledgerDir: join(base, 'ledger2'),
    })
    const all = {
      path: () => undefined,
      host: () => undefined,
      command: () => undefined,
      grantsCommand: () => true,
    }
    const runtime = linked.runtimeFor(all, new AbortController().signal)
    const result = toToolResult('git', await gitTool.execute({ command: 'status' }, { runtime }))
    await linked.close()
    expect(result.output).toContain('Branch:    linked')
    expect(result.output).toContain('Worktree:  yes (linked)')
  })
})

describe('an untrusted repository', () => {
  const evil = (name: string): string => join(dirname(space.root), `PWN-${name}`)
  const plant = (name: string): string => `touch '${evil(name)}' #`
  const everything = [
    { command: 'status' },
    { command: 'log' },
    { command: 'diff' },
    { command: 'diff', target: 'HEAD' },
    { command: 'branch' },
    { command: 'branch', name: 'dev' },
    { command: 'stash' },
    { command: 'stash', message: 'm', include_untracked: true },
    { command: 'checkout', ref: 'other' },
    { command: 'checkout', ref: 'main', force: true },
    { command: 'remote' },
    { command: 'worktree', subcommand: 'create', name: 'wt', path: 'wt' },
    { command: 'worktree' },
  ]

  it('SEC-097 runs nothing that its configuration, attributes or hooks name', async () => {
    repository()
    writeFileSync(join(space.root, 'f.x'), 'one\n')
    writeFileSync(join(space.root, '.gitattributes'), '*.x filter=evil diff=evil\n*.y filter=long\n')
    writeFileSync(join(space.root, 'f.y'), 'one\n')
    git('add', '.')
    git('commit', '-q', '-m', 'filters')
    git('checkout', '-q', '-b', 'other')
    writeFileSync(join(space.root, 'f.x'), 'two\n')
    writeFileSync(join(space.root, 'f.y'), 'two\n')
    git('commit', '-q', '-a', '-m', 'more')
    git('checkout', '-q', 'main')
    mkdirSync(join(space.root, '.git/evil-hooks'))
    for (const hook of [
      'post-checkout',
      'reference-transaction',
      'post-index-change',
      'fsmonitor-watchman',
    ]) {
      for (const place of ['evil-hooks', 'hooks']) {
        const file = join(space.root, '.git', place, hook)
        mkdirSync(dirname(file), { recursive: true })
        writeFileSync(file, `#!/bin/sh\n${plant(`hook-${hook}`)}\n`)
        chmodSync(file, 0o755)
      }
    }
    const config: Record<string, string> = {
      'core.hooksPath': '.git/evil-hooks',
      'core.fsmonitor': plant('fsmonitor'),
      'core.pager': plant('pager'),
      'core.editor': plant('editor'),
      'core.sshCommand': plant('ssh'),
      'pager.log': plant('pager.log'),
      'pager.status': 'true',
      'diff.external': plant('external'),
      'diff.evil.command': plant('command'),
      'diff.evil.textconv': plant('textconv'),
      'filter.evil.clean': plant('clean'),
      'filter.evil.smudge': plant('smudge'),
      'filter.evil.required': 'true',
      'filter.long.process': plant('process'),
      'filter.long.required': 'true',
      'log.showSignature': 'true',
      'gpg.program': evil('gpg'),
      'commit.gpgSign': 'true',
      'credential.helper': `!${plant('credential')}`,
      'alias.status': `!${plant('alias')}`,
      'alias.log': `!${plant('alias')}`,
      'submodule.recurse': 'true',
      'color.ui': 'always',
      'user.email': `$(${plant('email')})`,
      'interactive.diffFilter': plant('interactive'),
    }
    configure(config)
    writeFileSync(join(space.root, 'f.x'), 'three\n')
    const words: string[] = []
    for (const args of everything) words.push(await say(args))
    expect(words.filter((each) => each.includes('failed'))).toEqual([])
    expect(words.join('\n')).not.toContain('\u001b')
    expect(readdirSync(dirname(space.root)).join()).not.toContain('PWN')
    // It would have run: what kept it was the guard.
    await space.runtime.shell?.run('git status')
    expect(readdirSync(dirname(space.root)).join()).toContain('PWN-fsmonitor')
  })

  it('SEC-097 cannot make git fetch missing objects with a program that it names', async () => {
    repository()
    const blob = git('rev-parse', 'HEAD:a.txt').trim()
    git('init', '-q', '--bare', 'far.git')
    const config = {
      'core.repositoryFormatVersion': '1',
      'extensions.partialClone': 'far',
      'remote.far.url': './far.git',
      'remote.far.promisor': 'true',
      'remote.far.uploadpack': plant('uploadpack'),
      'protocol.allow': 'always',
    }
    configure(config)
    const object = join(space.root, '.git/objects', blob.slice(0, 2), blob.slice(2))
    chmodSync(object, 0o600)
    rmSync(object)
    writeFileSync(join(space.root, 'a.txt'), 'changed\n')
    expect(await say({ command: 'diff' })).toContain('git diff failed')
    expect(existsSync(evil('uploadpack'))).toBe(false)
    await space.runtime.shell?.run('git diff')
    expect(existsSync(evil('uploadpack'))).toBe(true)
  })

  it('SEC-097 runs nothing that the configuration of a nested repository names', async () => {
    repository()
    git('init', '-q', 'sub')
    writeFileSync(join(space.root, 'sub', '.gitattributes'), '*.x filter=evil\n')
    writeFileSync(join(space.root, 'sub', 'f.x'), 'one\n')
    git('-C', 'sub', 'add', '.')
    git('-C', 'sub', 'commit', '-q', '-m', 'x')
    git('-c', 'advice.addEmbeddedRepo=false', 'add', 'sub')
    git('commit', '-q', '-m', 'with a repository inside')
    git('-C', 'sub', 'config', 'core.fsmonitor', plant('sub-monitor'))
    git('-C', 'sub', 'config', 'filter.evil.clean', plant('sub'))
    writeFileSync(join(space.root, 'sub', 'f.x'), 'two\n')
    for (const args of everything) await say(args)
    expect(existsSync(evil('sub'))).toBe(false)
    expect(existsSync(evil('sub-monitor'))).toBe(false)
    await space.runtime.shell?.run('git status')
    expect(existsSync(evil('sub'))).toBe(true)
  })

  it('SEC-098 cannot point git to another work tree', async () => {
    repository()
    const outside = join(dirname(space.root), 'outside')
    mkdirSync(outside)
    writeFileSync(join(outside, 'precious'), 'p')
    git('config', 'core.worktree', outside)
    for (const args of [{ command: 'status' }, { command: 'stash', include_untracked: true }]) {
      const { text, exitCode } = await run(args)
      expect(text).toContain('the repository names a work tree elsewhere')
      expect(exitCode).toBe(128)
    }
    expect(existsSync(join(outside, 'precious'))).toBe(true)
  })

  it('SEC-097 runs nothing that only the configuration of another work tree names', async () => {
    writeFileSync(join(space.root, '.gitattributes'), '*.txt filter=evil\n')
    repository()
    const filter = (name: string): string =>
      `[filter "evil"]\nclean = ${plant(name)}\nsmudge = ${plant(name)}\n`
    git('config', 'extensions.worktreeConfig', 'true')
    git('worktree', 'add', '-q', 'tree')
    writeFileSync(join(space.root, '.git/worktrees/tree/config.worktree'), filter('tree'))
    writeFileSync(join(space.root, 'tree/a.txt'), 'one\n')
    await say({ command: 'worktree', subcommand: 'remove', path: 'tree', force: true })
    expect(existsSync(evil('tree'))).toBe(false)
    writeFileSync(join(space.root, '.git/more'), filter('condition'))
    git('config', 'includeIf.gitdir:**/worktrees/**.path', 'more')
    const made = await say({ command: 'worktree', subcommand: 'create', name: 'b', path: 'b' })
    expect(made).toContain('includes files conditionally')
    expect(existsSync(evil('condition'))).toBe(false)
  })

  it('is not found in a directory that only looks like one', async () => {
    git('init', '-q', '--bare', '.')
    git('config', 'core.fsmonitor', plant('bare'))
    for (const command of ['status', 'log', 'diff'])
      expect(await say({ command })).toBe(`Not a git repository: ${space.root}`)
    expect(existsSync(evil('bare'))).toBe(false)
  })

  it.each(['--output=x', '-c', '-', '--upload-pack=touch x', 'a\nb', 'a\0b', '\u001b[2J', ''])(
    'SEC-119 %j is rejected as a name',
    async (value) => {
      repository()
      const calls = [
        { command: 'log', ref: value },
        { command: 'diff', target: value },
        { command: 'checkout', ref: value },
        { command: 'branch', name: value },
        { command: 'branch', name: 'ok', base: value },
        { command: 'worktree', subcommand: 'create', name: value },
      ]
      for (const args of calls) expect(toToolResult('git', await space.call(gitTool, args)).exitCode).toBe(1)
      expect(existsSync(join(space.root, 'x'))).toBe(false)
    },
  )

  it('SEC-118 SEC-119 reads no name, path or message as a command', async () => {
    repository()
    const bait = `x $(${plant('sub')}) \`${plant('tick')}\` '; ${plant('quote')}; ' $HOME`
    const calls = [
      { command: 'log', ref: bait },
      { command: 'log', path: bait },
      { command: 'diff', target: bait, path: bait },
      { command: 'checkout', ref: bait },
      { command: 'branch', name: bait, base: bait },
      { command: 'remote', remote_name: bait },
      { command: 'worktree', subcommand: 'create', name: bait },
      { command: 'worktree', subcommand: 'remove', path: bait },
    ]
    for (const args of calls) await say(args)
    writeFileSync(join(space.root, 'a.txt'), 'two\n')
    expect(await say({ command: 'stash', message: bait })).toBe('Created stash')
    expect(await say({ command: 'stash' })).toContain(bait)
    expect(readdirSync(dirname(space.root)).join()).not.toContain('PWN')
  })
})
