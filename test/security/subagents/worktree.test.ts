import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { SessionOptions } from '../../../src/session/options.js'
import { removeDeadTrees } from '../../../src/workspace/git/isolated-tree.js'
import { detectSandbox } from '../../../src/workspace/sandbox/probe.js'
import { calls, makeRepository, makeWorkspace, openAgent, toolResults } from '../../contract/open-session.js'

const sandbox = await detectSandbox({ backend: 'bubblewrap' })
const confined = sandbox.kind === 'bubblewrap' ? 'required' : 'off'
const everything = { permissionPolicy: { allow: ['write(*)', 'edit(*)', 'read(*)', 'bash(*)'] } }

type Place = { readonly base: string; readonly root: string; readonly ran: string }

/** One task in a worktree that makes these calls, one in each round. Gives the results that its model was shown. */
async function isolated(
  prepare: (place: Place) => void,
  work: (place: Place) => readonly ReturnType<typeof calls>[],
  options: SessionOptions = {},
) {
  const { base, root, userDir } = await makeWorkspace({ 'a.txt': 'one\n', 'secret/key.txt': 'KEY\n' })
  const place = { base, root, ran: join(base, 'ran') }
  mkdirSync(place.ran)
  chmodSync(place.ran, 0o777)
  prepare(place)
  const steps = work(place)
  let round = 0
  const { server, agent } = await openAgent(() => steps[round++] ?? 'done', userDir)
  const session = agent.session(root, { sandbox: confined, ...everything, ...options })
  const task = await session.task({ prompt: 'work', isolation: 'worktree' })
  const results = server.requests.length === 0 ? [] : toolResults(server, server.requests.length - 1)
  return { ...place, task, results }
}

/** A program that leaves a file where it ran. */
function program(path: string, { ran }: Place, name: string, more = ''): string {
  writeFileSync(path, `#!/bin/sh\n: > '${ran}/${name}'\n${more}`)
  chmodSync(path, 0o755)
  return path
}

/** Settings of a repository that start a program with almost everything git does. */
function evilSettings(place: Place): string {
  const path = program(join(place.base, 'evil'), place, 'evil', 'cat\n')
  return `[core]\n\tfsmonitor = ${path}\n\thooksPath = ${place.base}/hooks\n\talternateRefsCommand = ${path}\n[filter "evil"]\n\tclean = ${path}\n\tsmudge = ${path}\n\tprocess = ${path}\n\trequired = true\n[diff "evil"]\n\ttextconv = ${path}\n\tcommand = ${path}\n[diff]\n\texternal = ${path}\n`
}

function makeEvil(place: Place): void {
  writeFileSync(join(place.root, '.gitattributes'), '* filter=evil diff=evil\n')
  makeRepository(place.root)
  mkdirSync(join(place.base, 'hooks'))
  for (const name of ['post-checkout', 'pre-commit', 'post-index-change', 'reference-transaction']) {
    program(join(place.base, 'hooks', name), place, name)
    program(join(place.root, '.git/hooks', name), place, `own-${name}`)
  }
  const config = join(place.root, '.git/config')
  writeFileSync(config, `${readFileSync(config, 'utf8')}${evilSettings(place)}`)
}

const ranIn = (place: Place): string[] =>
  ['evil', 'post-checkout', 'pre-commit', 'post-index-change', 'reference-transaction']
    .flatMap((name) => [name, `own-${name}`])
    .filter((name) => existsSync(join(place.ran, name)))

describe('the worktree of a task', () => {
  it('is created, used and compared without the hooks, filters and settings of the repository', async () => {
    const { task, ...place } = await isolated(makeEvil, () => [
      calls(['edit', { file_path: 'a.txt', old_string: 'one', new_string: 'ONE' }]),
      calls(['bash', { command: 'git status --short; git diff --stat; git add -A; git commit -qm x' }]),
    ])
    expect(task.output).toContain('modified a.txt')
    expect(ranIn(place)).toEqual([])
  })

  it('is compared without settings that its task wrote into it', async () => {
    const { task, ...place } = await isolated(
      (place) => {
        makeRepository(place.root)
        writeFileSync(join(place.base, 'settings'), evilSettings(place))
      },
      (place) => [
        calls([
          'bash',
          {
            command: `cat '${join(place.base, 'settings')}' >> .git/config; mkdir -p .git/hooks; cp '${program(join(place.base, 'hook'), place, 'post-index-change')}' .git/hooks/post-index-change && : > '${place.ran}/written'`,
          },
        ]),
        calls(['write', { file_path: '.gitattributes', content: '* filter=evil diff=evil\n' }]),
        calls(['edit', { file_path: 'a.txt', old_string: 'one', new_string: 'ONE' }]),
      ],
      // A user who approves everything, and no sandbox: nothing keeps a command from writing them.
      { sandbox: 'off', onAsk: async () => ({ decision: 'once' }) },
    )
    expect(existsSync(join(place.ran, 'written'))).toBe(true)
    expect(task.output).toContain('modified a.txt')
    expect(ranIn(place)).toEqual([])
  })

  it('is the only directory that its task can write to', async () => {
    const { results, root } = await isolated(
      (place) => makeRepository(place.root),
      ({ root }) => [
        calls(['write', { file_path: join(root, 'a.txt'), content: 'taken' }]),
        calls(['write', { file_path: '.git/config', content: 'taken' }]),
        calls(['write', { file_path: '.git/hooks/post-checkout', content: 'taken' }]),
        ...(confined === 'off'
          ? []
          : [
              calls([
                'bash',
                {
                  command: `echo taken > '${root}/a.txt'; echo taken >> '${root}/.git/config'; echo taken > .git/hooks/x`,
                },
              ]),
            ]),
      ],
    )
    expect(results.length).toBeGreaterThanOrEqual(3)
    expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('one\n')
    expect(readFileSync(join(root, '.git/config'), 'utf8')).not.toContain('taken')
    for (const result of results.slice(0, 3)) expect(result).not.toMatch(/"created"|Wrote/)
  })

  it.each([
    ['by a relative path', () => 'read(secret/**)'],
    ['by an absolute path', (root: string) => `read(${root}/secret/**)`],
    ['by an absolute path with a wildcard', (root: string) => `read(${dirname(root)}/*/secret/**)`],
  ])('follows the denies of the parent %s', async (_, rule) => {
    const { base, root, userDir } = await makeWorkspace({ 'secret/key.txt': 'KEY\n', 'a.txt': 'one\n' })
    expect(base).not.toBe('')
    makeRepository(root)
    const steps = [calls(['read', { file_path: 'secret/key.txt' }], ['read', { file_path: 'a.txt' }])]
    let round = 0
    const { server, agent } = await openAgent(() => steps[round++] ?? 'done', userDir)
    const session = agent.session(root, { sandbox: 'off', permissionPolicy: { deny: [rule(root)] } })
    await session.task({ prompt: 'work', isolation: 'worktree' })
    const [secret, other] = toolResults(server, 1)
    expect(secret).not.toContain('KEY')
    expect(other).toContain('one')
  })

  it('gives the parent no text of files that its rules deny', async () => {
    const { task } = await isolated(
      (place) => makeRepository(place.root),
      () => [
        calls(['write', { file_path: 'secret/key.txt', content: 'other\n' }]),
        calls(['edit', { file_path: 'a.txt', old_string: 'one', new_string: 'ONE' }]),
      ],
      { sandbox: 'off', permissionPolicy: { allow: ['write(*)', 'edit(*)'], deny: ['read(secret/**)'] } },
    )
    expect(task.output).toContain('modified secret/key.txt')
    expect(task.output).toMatch(/rule denies reading them: secret\/key\.txt/)
    expect(task.output).toMatch(/^\+ONE$/m)
    expect(task.output).not.toContain('KEY')
  })

  it('is compared without the filters of a repository in the directory of a submodule', async () => {
    const { task, ...place } = await isolated(
      (place) => {
        makeRepository(place.root)
        const git = (...args: string[]) =>
          execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: place.root })
        const head = git('rev-parse', 'HEAD').toString().trim()
        git('update-index', '--add', '--cacheinfo', `160000,${head},sub`)
        git('commit', '-qm', 'with a submodule')
        program(join(place.base, 'evil'), place, 'evil', 'cat\n')
      },
      ({ base, root, ran }) => [
        calls([
          'bash',
          {
            command: `cd sub && git init -q . && echo '${root}/.git/objects' > .git/objects/info/alternates && git update-ref HEAD $(git -C '${root}' rev-parse HEAD~1) && git reset -q --hard && git config filter.evil.clean '${base}/evil' && echo '* filter=evil' > .gitattributes && echo two > a.txt && rm -f '${ran}/evil' && : > '${ran}/written'`,
          },
        ]),
        calls(['edit', { file_path: 'a.txt', old_string: 'one', new_string: 'ONE' }]),
      ],
      { sandbox: 'off', onAsk: async () => ({ decision: 'once' }) },
    )
    expect(existsSync(join(place.ran, 'written'))).toBe(true)
    expect(task.output).toContain('modified a.txt')
    expect(ranIn(place)).toEqual([])
  })

  it('keeps its changes when a repository without a commit was created in it', async () => {
    const { task } = await isolated(
      (place) => makeRepository(place.root),
      () => [
        calls(['bash', { command: 'git init -q nested' }]),
        calls(['write', { file_path: 'z.txt', content: 'last\n' }]),
      ],
      { sandbox: 'off', onAsk: async () => ({ decision: 'once' }) },
    )
    expect(task.exitCode).toBe(0)
    expect(task.output).toContain('added z.txt')
    expect(task.output).toMatch(/git cannot read it: .*nested/)
  })

  it.each<[string, (root: string, other: string) => void]>([
    [
      'the .git file of the workspace only points to',
      (root, other) => writeFileSync(join(root, '.git'), `gitdir: ${other}\n`),
    ],
    [
      'the .git directory of the workspace names as its own',
      (root, other) => {
        mkdirSync(join(root, '.git'))
        writeFileSync(join(root, '.git/HEAD'), readFileSync(join(other, 'HEAD')))
        writeFileSync(join(root, '.git/commondir'), other)
        writeFileSync(join(root, '.git/gitdir'), join(root, '.git'))
      },
    ],
    [
      'links in the .git directory of the workspace lead to',
      (root, other) => {
        makeRepository(root)
        const [, ref = ''] = /^ref: (\S+)/.exec(readFileSync(join(root, '.git/HEAD'), 'utf8')) ?? []
        const [, otherRef = ''] = /^ref: (\S+)/.exec(readFileSync(join(other, 'HEAD'), 'utf8')) ?? []
        execFileSync('rm', [join(root, '.git', ref)])
        symlinkSync(join(other, otherRef), join(root, '.git', ref))
        writeFileSync(join(root, '.git/objects/info/alternates'), `${join(other, 'objects')}\n`)
      },
    ],
  ])('is not created from a repository that %s', async (_, point) => {
    const { task } = await isolated(
      ({ base, root }) => {
        const other = join(base, 'private')
        mkdirSync(other)
        writeFileSync(join(other, 'private.txt'), 'PRIVATE\n')
        makeRepository(other)
        point(root, join(other, '.git'))
      },
      () => [calls(['bash', { command: 'cat private.txt' }])],
      { sandbox: 'off' },
    )
    expect(task.exitCode).not.toBe(0)
    expect(task.output).toMatch(/cannot be checked out a second time/)
  })
})

describe('the removal of worktrees that killed processes left', () => {
  afterEach(() => vi.unstubAllEnvs())

  it.each<[string, (base: string, home: string) => void]>([
    ['a link to other files', (base, home) => symlinkSync(home, join(base, 'worktrees'))],
    ['files with other names', (base) => mkdirSync(join(base, 'worktrees/documents'), { recursive: true })],
  ])('does not remove %s in its directory', async (_, prepare) => {
    const { base: place } = await makeWorkspace({})
    const base = join(place, `capstan-${process.getuid?.() ?? 'user'}`)
    const home = join(place, 'home')
    mkdirSync(join(home, 'documents'), { recursive: true })
    mkdirSync(base, { mode: 0o700 })
    prepare(base, home)
    vi.stubEnv('TMPDIR', dirname(base))
    await removeDeadTrees().catch(() => 0)
    expect(existsSync(join(home, 'documents'))).toBe(true)
    expect(existsSync(join(base, 'worktrees/documents'))).toBe(true)
  })
})
