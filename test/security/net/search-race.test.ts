import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CapstanError } from '../../../src/tool/errors.js'
import type { RuntimeSearch } from '../../../src/tool/runtime.js'
import { createFallbackSearch } from '../../../src/workspace/search/fallback-search.js'
import { createLocalSearch } from '../../../src/workspace/search/index.js'
import { factor } from '../../support/fault-factor.js'
import { temporaryDirectory } from '../../support/temporary-directory.js'

const canary = 'canary-7d21'
/** How often to search, at least; `npm run faults` searches ten times as often. Starting ripgrep takes longest. */
const minRuns = (name: string, what: string): number =>
  (name === 'ripgrep' ? 30 : what === 'grep' ? 60 : 400) * factor
const atOnce = 4
let place = ''
let root = ''
let attacker: ChildProcess | undefined

beforeEach(() => {
  // Memory where there is some: the faster a search, the more of them meet a swap.
  place = temporaryDirectory(existsSync('/dev/shm') ? '/dev/shm' : undefined)
  root = join(place, 'W')
  for (const directory of ['W/d', 'W/n/d', 'W/f', 'outside'])
    mkdirSync(join(place, directory), { recursive: true })
  for (const file of ['d/inside', 'n/d/inside', 'f/plain', 'still']) writeFileSync(join(root, file), 'mine\n')
  // Many, so that a search that lists or reads outside takes a while. The name of each gives it away as well.
  for (let index = 0; index < 20; index += 1)
    writeFileSync(join(place, `outside/${canary}-${index}`), `${canary}\n`)
  // The same name as inside, for a search that lists the directory and then reads through the link.
  for (const file of ['secret', 'inside']) writeFileSync(join(place, 'outside', file), `${canary}\n`)
})
afterEach(() => {
  attacker?.kill('SIGKILL')
})

type Ask = (search: RuntimeSearch) => Promise<object>
const greps: Ask[] = ['d', 'n', 'f', 'f/plain', undefined].map(
  (path) => (search) => search.grep({ pattern: `mine|${canary}`, limit: 50, ...(path && { path }) }),
)
const globs: Ask[] = (['name', 'newest'] as const).flatMap((order) =>
  ['d', 'n', undefined].map(
    (path): Ask =>
      (search) =>
        search.glob({ pattern: '**', limit: 50, order, ...(path && { path }) }),
  ),
)

describe.runIf(process.platform === 'linux').each([
  ['ripgrep', () => createLocalSearch({ root, permit: () => undefined })],
  ['the fallback', () => createFallbackSearch({ root, permit: () => undefined })],
])('SEC-011/SEC-025: %s while directories and files are replaced by links', (name, make) => {
  it.each([
    ['grep', greps],
    ['glob', globs],
  ])(`%s returns nothing from outside`, { timeout: 300_000 }, async (what, asks) => {
    const handles = handlesHere()
    attacker = fork(new URL('./search-attacker.mjs', import.meta.url), [root, join(place, 'outside')], {
      execArgv: [],
    })
    await once(attacker, 'message')
    const seen = { runs: 0, answered: 0, refused: 0, leaks: 0 }
    const worker = async (): Promise<void> => {
      // A busy machine needs longer until both have happened.
      while (seen.runs < minRuns(name, what) || seen.answered <= 5 || seen.refused === 0) {
        const ask = asks[seen.runs++ % asks.length]
        const text = await ask?.(make()).then(JSON.stringify, refusal)
        if (text === undefined) seen.refused += 1
        else if (text.includes(canary)) seen.leaks += 1
        else if (/mine|inside|still/.test(text)) seen.answered += 1
      }
    }
    await Promise.all(Array.from({ length: atOnce }, worker))
    attacker.send('stop')
    const [{ swaps }] = (await once(attacker, 'message')) as [{ swaps: number }]
    console.log(`SEC-011/SEC-025: ${name}, ${what}, ${swaps} swaps,`, seen)
    expect(seen.leaks).toBe(0)
    // It was a race: some found the directory, some the link.
    expect(seen.answered).toBeGreaterThan(5)
    expect(seen.refused).toBeGreaterThan(0)
    expect(swaps).toBeGreaterThan(300)
    expect(handlesHere()).toEqual(handles)
  })
})

describe.runIf(process.platform === 'linux')('SEC-011: the handle a search holds', () => {
  it('is closed however the search ends', async () => {
    const search = createLocalSearch({ root, permit: () => undefined })
    const short = createLocalSearch({ root, permit: () => undefined, deadlineMs: 1 })
    const controller = new AbortController()
    setTimeout(() => controller.abort(), 1)
    const handles = handlesHere()
    await Promise.allSettled([
      search.grep({ pattern: 'mine', limit: 9, path: 'd' }),
      search.grep({ pattern: '(', limit: 9, path: 'd' }),
      search.grep({ pattern: 'mine', limit: 9, path: 'none' }),
      search.glob({ pattern: '**', limit: 9, signal: controller.signal }),
      search.glob({ pattern: '**', limit: 9, signal: AbortSignal.abort() }),
      short.glob({ pattern: '**', limit: 9, order: 'newest' }),
      createLocalSearch({ root, permit: () => undefined, ripgrep: '/none' }).glob({ pattern: '*', limit: 9 }),
    ])
    expect(handlesHere()).toEqual(handles)
  })
})

function refusal(thrown: unknown): undefined {
  if (!(thrown instanceof CapstanError)) throw thrown
}

/** The files and directories of this test that this process has open. */
function handlesHere(): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`)
      return path.startsWith(place) ? [path] : []
    } catch {
      // The handle that lists the handles.
      return []
    }
  })
}
