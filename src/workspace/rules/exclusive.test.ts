import { execFileSync } from 'node:child_process'
import { readdir, rm, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../../test/support/temporary-directory.js'
import { exclusively } from './exclusive.js'

let base: string
let file: string
beforeEach(async () => {
  base = temporaryDirectory()
  file = join(base, 'f')
})

const times = { staleAfterMs: 10_000, giveUpAfterMs: 50 }
const gone = Number(execFileSync(process.execPath, ['-p', 'process.pid'], { encoding: 'utf8' }))
const lockOf = (pid: number, host = hostname()): string => JSON.stringify({ pid, host, token: 'x' })

describe('exclusively', () => {
  it('runs one task after another, also when the previous one fails', async () => {
    let running = 0
    const work = async (): Promise<void> => {
      running += 1
      expect(running).toBe(1)
      await wait(2)
      running -= 1
      throw new Error('no')
    }
    const outcomes = await Promise.allSettled(Array.from({ length: 5 }, () => exclusively(file, work)))
    expect(outcomes.map(({ status }) => status)).toEqual(Array(5).fill('rejected'))
    expect(await readdir(base)).toEqual([])
  })

  it.each([
    ['a process that lives', () => lockOf(process.pid)],
    ['a process of another machine', () => lockOf(gone, `not-${hostname()}`)],
    ['an unknown holder', () => ''],
  ])('waits for %s, and reports it at the end', async (_, content) => {
    await writeFile(`${file}.lock`, content())
    await expect(exclusively(file, async () => 1, times)).rejects.toThrow(
      /in use by another process.*f\.lock/,
    )
    expect(await readdir(base)).toEqual(['f.lock'])
    setTimeout(() => rm(`${file}.lock`), 20)
    expect(await exclusively(file, async () => 1, { ...times, giveUpAfterMs: 5000 })).toBe(1)
  })

  it('runs in the order of the requests', async () => {
    const order: number[] = []
    const names = Array.from({ length: 20 }, (_, at) => at)
    await Promise.all(names.map((at) => exclusively(file, async () => order.push(at))))
    expect(order).toEqual(names)
  })

  it('takes over the lock of a process that has ended at once', async () => {
    await writeFile(`${file}.lock`, lockOf(gone))
    expect(await exclusively(file, async () => 1, times)).toBe(1)
    expect(await readdir(base)).toEqual([])
  })

  it('reports a lost lock to its holder, and leaves the lock to the other process', async () => {
    const robbed = exclusively(file, async (assertMine) => {
      await assertMine()
      await writeFile(`${file}.lock`, lockOf(process.pid))
      await assertMine()
    })
    await expect(robbed).rejects.toThrow('took the lock')
    expect(await readdir(base)).toEqual(['f.lock'])
  })
})
