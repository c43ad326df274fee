import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { CapstanError } from '../../../src/tool/errors.js'
import type { LocalFiles } from '../../../src/workspace/files/index.js'
import { factor } from '../../support/fault-factor.js'
import { createScene } from './fixture.js'

/** In `npm test` and, at least, in `npm run faults`. */
const writes = factor > 1 ? 2_000 * Math.min(factor, 10) : 400
const reads = factor > 1 ? 3_000 : 500
const atOnce = 8
/** The machine decides which side is faster, so the writes are repeated until each side has been faster this often. */
const enough = 40
const maxRounds = 50

describe.runIf(process.platform === 'linux')('the gap between check and use', () => {
  it('SEC-011 hundreds of writes while a directory is replaced by a link: none goes outside', {
    timeout: 300_000,
  }, async () => {
    // Memory where there is some: the faster a write, the more of them meet a swap.
    const scene = createScene(existsSync('/dev/shm') ? '/dev/shm' : undefined)
    mkdirSync(join(scene.workspace, 'd'))
    const attacker = fork(new URL('./attacker.mjs', import.meta.url), [scene.workspace, scene.outside], {
      execArgv: [],
    })
    await once(attacker, 'message')
    try {
      const outcomes: Record<string, number> = {}
      const isRace = (): boolean =>
        (outcomes['done'] ?? 0) > enough && (outcomes['path_outside'] ?? 0) > enough
      let rounds = 0
      do await writeAll(scene.files(), outcomes)
      while (!isRace() && ++rounds < maxRounds)
      attacker.send('stop')
      const [{ swaps }] = (await once(attacker, 'message')) as [{ swaps: number }]
      const escaped = readdirSync(scene.outside).filter((name) => name !== 'C')
      console.log(`SEC-011: ${escaped.length} escaped, ${swaps} swaps,`, outcomes)
      expect(escaped).toEqual([])
      // It was a race: some writes found the directory, some the link.
      expect(isRace(), JSON.stringify(outcomes)).toBe(true)
    } finally {
      attacker.kill('SIGKILL')
    }
    expect(temporaryFilesIn(scene.workspace)).toEqual([])
  })

  it('SEC-011 the same for reads: the file outside is never read', { timeout: 300_000 }, async () => {
    const scene = createScene(existsSync('/dev/shm') ? '/dev/shm' : undefined)
    mkdirSync(join(scene.workspace, 'd'))
    const files = scene.files()
    await files.write('d/C', 'mine')
    symlinkSync('d/C', join(scene.workspace, 'l'))
    const attacker = fork(new URL('./attacker.mjs', import.meta.url), [scene.workspace, scene.outside], {
      execArgv: [],
    })
    await once(attacker, 'message')
    try {
      const seen = new Set<string>()
      for (let i = 0; i < reads || (seen.size < 2 && i < reads * maxRounds); i++) {
        const text = await files.readText(i % 2 === 0 ? 'd/C' : 'l').catch((thrown: unknown) => {
          if (thrown instanceof CapstanError) return 'refused'
          throw thrown
        })
        seen.add(text)
      }
      expect([...seen].sort()).toEqual(['mine', 'refused'])
    } finally {
      attacker.send('stop')
      await once(attacker, 'exit')
    }
  })
})

function temporaryFilesIn(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    if (entry.isDirectory()) return temporaryFilesIn(join(directory, entry.name))
    return entry.name.endsWith('.capstan-tmp') ? [entry.name] : []
  })
}

/** Adds to `outcomes` how often each came up. */
async function writeAll(files: LocalFiles, outcomes: Record<string, number>): Promise<void> {
  let next = 0
  const worker = async (): Promise<void> => {
    for (let i = next++; i < writes; i = next++) {
      // In turn: straight into the directory, over one file, and with directories to be made on the way.
      const path = [`d/f${i % 500}`, 'd/same', `d/n${i % 200}/f`][i % 3] ?? 'd/f'
      const outcome = await files.write(path, `${i}`).then(
        () => 'done',
        (thrown: unknown) => {
          if (thrown instanceof CapstanError) return thrown.code
          throw thrown
        },
      )
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}
