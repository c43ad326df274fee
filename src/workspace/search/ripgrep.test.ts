import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { sharedDirectory } from '../../../test/support/temporary-directory.js'
import { ripgrepPath, runRipgrep } from './ripgrep.js'

const place = sharedDirectory()

async function output(script: string | undefined, args: string[]) {
  const binary = script === undefined ? await ripgrepPath() : join(place, 'script')
  if (script !== undefined) writeFileSync(binary, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  let text = ''
  let reads = 0
  const end = await runRipgrep(args, {
    cwd: place,
    signal: undefined,
    deadlineMs: 120_000,
    maxThreads: 3,
    binary,
    onOutput(chunk) {
      text += chunk.toString()
      reads += 1
      return true
    },
  })
  return { text, end, reads }
}

it('finds the packaged binary', async () => {
  const { text, end } = await output(undefined, ['--version'])
  expect(text).toMatch(/^ripgrep \d+/)
  expect(end).toEqual({ exitCode: 0, errorText: '' })
})

it('starts it without the environment, without a shell, with fixed options first', async () => {
  vi.stubEnv('CAPSTAN_TEST_SECRET', 'hunter2')
  const { text } = await output('/usr/bin/env; printf "<%s>" "$@"', ['$(id)', 'a b', ';'])
  vi.unstubAllEnvs()
  expect(text).not.toContain('hunter2')
  expect(text).not.toMatch(/^(HOME|PATH=.*node)/m)
  expect(text).toMatch(/<--no-config><--color=never><--no-messages><--threads=3><\$\(id\)><a b><;>$/)
})

it('returns the exit code and a limited error text', async () => {
  const { end } = await output(
    'i=0; while [ $i -lt 20000 ]; do echo "error line" >&2; i=$((i+1)); done; exit 2',
    [],
  )
  expect(end.exitCode).toBe(2)
  expect(end.errorText.length).toBeLessThan(100_000)
})

it('reads a long output that is written in small pieces with fewer reads, and completely', async () => {
  const lines = 20_000
  const { text, reads } = await output(`i=0; while [ $i -lt ${lines} ]; do echo $i; i=$((i+1)); done`, [])
  expect(text).toBe(Array.from({ length: lines }, (_, at) => `${at}\n`).join(''))
  expect(reads).toBeLessThan(lines / 40)
})
