/**
 * FT-21 and wish 9: one kept session with retention on. Short form: 300 rounds; `FAULT_FACTOR=34` or more makes it
 * 10,000. A session that keeps its history grows by its messages, and by nothing else; one that is asked on top of
 * another history does not grow at all. What a round writes does not depend on how many there were.
 */
import { expect, it } from 'vitest'
import { factor } from '../support/fault-factor.js'
import { startHost } from '../support/host-process.js'

const rounds = Math.min(10_000, 300 * factor)
// Code that is not used for a while would be dropped, and compiled again: more bytes than a round leaves.
const flags = ['--expose-gc', '--no-flush-bytecode']
type Part = { readonly memory?: number; readonly disk: number; readonly ms: number }
const all = [
  ['file', true, 'async'],
  ['sqlite', false, 'async'],
  ['file', false, 'async'],
  ['sqlite', true, 'async'],
  ['file', true, 'sync'],
] as const

it.each(factor >= 5 ? all : all.slice(0, 2))(
  'FT-21: a session in the store "%s" runs for many rounds (keeps its history: %s; %s)',
  async (backend, keep, durability) => {
    const order = { backend, rounds, keep, durability }
    const host = startHost('persistence/soak-host.mjs', order, flags)
    const figures = await host.next()
    expect(await host.exited).toEqual({ code: 0, signal: null })
    const parts = figures['parts'] as readonly Part[]
    console.info(`FT-21: ${JSON.stringify({ ...order, ...figures })}`)
    const at = (n: number): Part => parts.at(n) ?? { disk: 0, ms: 0 }
    // A database grows by pages, and its journal before it: single parts are only comparable once they are long.
    const exact = backend === 'file' || factor >= 25
    // The first part also holds what is written once.
    if (exact) expect(at(-1).disk / at(1).disk).toBeLessThanOrEqual(1.1)
    const settled = parts.flatMap(({ memory }) => memory ?? [])
    expect(settled).toHaveLength(5)
    // Not the smallest: one part may free what the engine had compiled before.
    const [, second] = settled.toSorted((a, b) => a - b)
    expect(second).toBeLessThan(keep ? 6000 : factor > 5 ? 600 : 3000)
  },
  1_200_000,
)
