import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createLocalShell, type LocalShell } from './local-shell.js'

let place: string
let root: string
let open: LocalShell[]
beforeEach(() => {
  place = realpathSync(mkdtempSync(join(tmpdir(), 'capstan-guarded-')))
  root = join(place, 'work')
  mkdirSync(root)
  open = []
})
afterEach(async () => {
  await Promise.all(open.map((shell) => shell.close()))
  rmSync(place, { recursive: true, force: true })
})

function shellWith(path?: string): LocalShell {
  const options = { root, ledgerDir: join(place, 'ledger'), sandbox: 'off' as const }
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

it('SEC-097 keeps git from starting what the repository names, and only when asked to', async () => {
  execFileSync('git', ['init', '-q', root])
  execFileSync('git', ['-C', root, 'config', 'core.fsmonitor', `touch '${join(place, 'PWN')}'; false`])
  const shell = shellWith()
  expect(await shell.run('git status --short', { guardGit: true })).toMatchObject({ exitCode: 0, output: '' })
  expect(existsSync(join(place, 'PWN'))).toBe(false)
  await shell.run('git status --short')
  expect(existsSync(join(place, 'PWN'))).toBe(true)
})

it('gives the command its own words and exit code', async () => {
  const { exitCode, output } = await shellWith().run(`printf '%s|' "a b" 'c'; echo "$0 $# $count"; exit 3`, {
    guardGit: true,
  })
  expect([exitCode, output]).toEqual([3, 'a b|c|/bin/bash 0 \n'])
})

it('does not run the command with a git that takes no settings from its environment', async () => {
  const shell = shellWith(pathWith({ git: 'exit 0' }))
  const { exitCode, output } = await shell.run('echo ran', { guardGit: true })
  expect(exitCode).toBe(128)
  expect(output).toContain('cannot be kept from running what a repository names')
})

it('says so when there is no git', async () => {
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
