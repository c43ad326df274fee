import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { temporaryDirectory } from '../../../test/support/temporary-directory.js'
import { workerLedger } from '../../../test/support/worker-ledger.js'
import { createLocalShell, type LocalShell } from './local-shell.js'

let place: string
let root: string
let open: LocalShell[]
beforeEach(() => {
  place = temporaryDirectory()
  root = join(place, 'work')
  mkdirSync(root)
  open = []
})
afterEach(async () => {
  await Promise.all(open.map((shell) => shell.close()))
})

function shellWith(path?: string): LocalShell {
  const options = { root, ledgerDir: workerLedger, sandbox: 'off' as const }
  const shell = createLocalShell(path === undefined ? options : { ...options, path })
  open.push(shell)
  return shell
}

/** Programs by name, alone on the search path. */
function pathWith(programs: Readonly<Record<string, string>>): string {
  const directory = join(place, 'bin')
  mkdirSync(directory)
  for (const [name, body] of Object.entries(programs)) {
    writeFileSync(join(directory, name), `#!/bin/sh\n${body}\n`)
    chmodSync(join(directory, name), 0o755)
  }
  return directory
}

it('SEC-097 prevents git from starting programs that the repository names, only on request', async () => {
  execFileSync('git', ['init', '-q', root])
  execFileSync('git', ['-C', root, 'config', 'core.fsmonitor', `touch '${join(place, 'PWN')}'; false`])
  const shell = shellWith()
  expect(await shell.run('git status --short', { guardGit: true })).toMatchObject({ exitCode: 0, output: '' })
  expect(existsSync(join(place, 'PWN'))).toBe(false)
  await shell.run('git status --short')
  expect(existsSync(join(place, 'PWN'))).toBe(true)
})

it('passes the output and the exit code of the command on', async () => {
  execFileSync('git', ['init', '-q', root])
  const { exitCode, output } = await shellWith().run(`printf '%s|' "a b" 'c'; echo "$0 $# $count"; exit 3`, {
    guardGit: true,
  })
  expect([exitCode, output]).toEqual([3, 'a b|c|/bin/bash 0 \n'])
})

it('does not run the command with a git that does not support settings in its environment', async () => {
  const shell = shellWith(pathWith({ git: 'exit 0' }))
  const { exitCode, output } = await shell.run('echo ran', { guardGit: true })
  expect(exitCode).toBe(128)
  expect(output).toContain('cannot be kept from running what a repository names')
})

it('reports that there is no git', async () => {
  const { exitCode, output } = await shellWith(pathWith({})).run('echo ran', { guardGit: true })
  expect([exitCode, output]).toEqual([128, 'fatal: git is not installed\n'])
})

it('works in a directory below the top of a repository', async () => {
  execFileSync('git', ['init', '-q', place])
  expect(await shellWith().run('git rev-parse --show-prefix', { guardGit: true })).toMatchObject({
    exitCode: 0,
    output: 'work/\n',
  })
})

it('does not run the command outside of a repository, where git would compare any two files', async () => {
  const { exitCode, output } = await shellWith().run('git diff /etc/hosts -- /etc/passwd', { guardGit: true })
  expect(exitCode).toBe(128)
  expect(output).toMatch(/^fatal: not a git repository/)
})

it('turns off hooks that a configuration names', async () => {
  execFileSync('git', ['init', '-q', root])
  execFileSync('git', ['-C', root, 'config', 'hook.evil.command', 'touch PWN'])
  const { output } = await shellWith().run('git config --get hook.evil.enabled', { guardGit: true })
  expect(output).toBe('false\n')
})

const identity = ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.test']

/** A repository next to the workspace, with one commit. */
function elsewhere(): string {
  const other = join(place, 'other')
  execFileSync('git', ['init', '-q', other])
  execFileSync('git', ['-C', other, ...identity, 'commit', '-q', '--allow-empty', '-m', 'of the other'])
  return other
}

it('shows no repository that the current one only points to', async () => {
  const other = elsewhere()
  const log = async (): Promise<string> =>
    (await shellWith().run('git log --format=%s', { guardGit: true })).output
  writeFileSync(join(root, '.git'), `gitdir: ${other}/.git\n`)
  expect(await log()).toContain('does not know of this work tree')
  rmSync(join(root, '.git'))
  symlinkSync(join(other, '.git'), join(root, '.git'))
  expect(await log()).toContain('does not know of this work tree')
  rmSync(join(root, '.git'))
  execFileSync('git', ['init', '-q', root])
  writeFileSync(join(root, '.git/commondir'), join(other, '.git'))
  expect(await log()).toContain('keeps its objects elsewhere')
  rmSync(join(root, '.git/commondir'))
  for (const part of ['refs', 'objects']) {
    rmSync(join(root, '.git', part), { recursive: true })
    symlinkSync(join(other, '.git', part), join(root, '.git', part))
  }
  expect(await log()).toContain('keeps its objects elsewhere')
})

it('works in a linked work tree and in a submodule, which their repositories list', async () => {
  const other = elsewhere()
  rmSync(root, { recursive: true })
  execFileSync('git', ['-C', other, 'worktree', 'add', '-q', root], { stdio: 'pipe' })
  const log = { exitCode: 0, output: 'of the other\n' }
  expect(await shellWith().run('git log --format=%s', { guardGit: true })).toMatchObject(log)
  execFileSync('git', ['-C', other, 'worktree', 'remove', root])
  const above = join(place, 'above')
  execFileSync('git', ['init', '-q', above])
  const add = ['-c', 'protocol.file.allow=always', 'submodule', 'add', '-q', other, 'sub']
  execFileSync('git', ['-C', above, ...add], { stdio: 'pipe' })
  root = join(above, 'sub')
  expect(await shellWith().run('git log --format=%s', { guardGit: true })).toMatchObject(log)
})
