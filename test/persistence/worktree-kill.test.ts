import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it, vi } from 'vitest'
import { makeRepository } from '../contract/open-session.js'
import { startHost } from '../support/host-process.js'
import { temporaryDirectory } from '../support/temporary-directory.js'

afterEach(() => vi.unstubAllEnvs())

it('a host killed while a task works in a worktree leaves nothing that the next session does not remove', async () => {
  const base = temporaryDirectory()
  const workspace = join(base, 'workspace')
  mkdirSync(workspace)
  writeFileSync(join(workspace, 'a.txt'), 'first\n')
  makeRepository(workspace)
  const temporary = join(base, 'tmp')
  mkdirSync(temporary)
  vi.stubEnv('TMPDIR', temporary)
  const trees = join(temporary, `capstan-${process.getuid?.() ?? 'user'}`, 'worktrees')
  const order = { workspace, userDir: join(base, 'user') }

  const killed = startHost('persistence/worktree-kill-host.mjs', order)
  expect(await killed.next()).toEqual({ isChanged: true })
  killed.child.kill('SIGKILL')
  expect((await killed.exited).signal).toBe('SIGKILL')
  const [left = '', ...others] = readdirSync(trees)
  expect(others).toEqual([])
  expect(readFileSync(join(trees, left, 'tree/a.txt'), 'utf8')).toBe('changed\n')

  const next = startHost('persistence/worktree-kill-host.mjs', { ...order, isNext: true })
  expect(await next.next()).toEqual({ text: 'Nothing is left to do.' })
  expect(await next.exited).toEqual({ code: 0, signal: null })
  expect(readdirSync(trees)).toEqual([])
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: workspace }).toString().trim()
  expect(readFileSync(join(workspace, 'a.txt'), 'utf8')).toBe('first\n')
  expect(git('status', '--porcelain')).toBe('')
  expect(git('worktree', 'list', '--porcelain').match(/^worktree /gm)).toHaveLength(1)
})
