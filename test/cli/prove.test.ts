import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { detectSandbox } from '../../src/workspace/sandbox/probe.js'
import { root as packageRoot } from '../house/run.js'
import { temporaryDirectory } from '../support/temporary-directory.js'

const main = join(packageRoot, 'dist/cli/main.js')
const limit = 600_000

function prove(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [main, 'doctor', '--prove', ...args],
      { timeout: limit },
      (error, stdout, stderr) => resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    )
  })
}

type Run = { name: string; tried: number; blocked: number; escaped: number; attempts: { user: number }[] }

describe.runIf(process.platform === 'linux')('capstan doctor --prove', { timeout: limit }, () => {
  it('tries every escape on each sandbox, as an ordinary user too, and reports that all were blocked', async () => {
    const working = []
    for (const backend of ['bubblewrap', 'landlock'] as const)
      if ((await detectSandbox({ backend })).kind !== 'none') working.push(backend)
    const file = join(temporaryDirectory(), 'report.json')
    const { code, stdout } = await prove('--report', file)
    const { runs } = JSON.parse(readFileSync(file, 'utf8')) as { runs: Run[] }
    expect(runs.filter(({ escaped }) => escaped > 0)).toEqual([])
    expect(code).toBe(working.length > 0 ? 0 : 1)
    const users = process.getuid?.() === 0 ? ['as root', 'as an ordinary user'] : ['as an ordinary user']
    for (const backend of working)
      for (const user of users) {
        const run = runs.find(({ name }) => name === `${backend}, ${user}`)
        expect(run?.tried, `${backend}, ${user}`).toBeGreaterThanOrEqual(20)
        expect(run?.blocked).toBe(run?.tried)
      }
    expect(stdout).toMatch(/\d+ tried, \d+ blocked, 0 escaped, \d+ not applicable\n$/)
  })

  it('rejects the name of an unknown sandbox', async () => {
    const { code, stderr } = await prove('--backend', 'jail')
    expect(code).not.toBe(0)
    expect(stderr).toContain('Use one of: bubblewrap, landlock, seatbelt.')
  })
})
