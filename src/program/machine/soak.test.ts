import { afterAll, describe, expect, it } from 'vitest'
import { factor } from '../../../test/support/fault-factor.js'
import { outputEnvelope } from '../../tool/envelope.js'
import type { ProgramHost } from './host.js'
import { createProgramMachine } from './machine.js'

/** Short form: 100 in a row and 16 at once; `FAULT_FACTOR=10`: 1,000 and 50. */
const inARow = Math.min(1_000, 100 * factor)
const atOnce = Math.min(50, 16 * factor)

const maxGrownMiB = 60

const machine = createProgramMachine()
afterAll(() => machine.close())

const host: ProgramHost = { call: async ({ args }) => outputEnvelope(args) }
const source = `globalThis.seen = (globalThis.seen ?? 0) + 1
export default async (ctx, inputs) => {
  const results = await Promise.all([1, 2, 3].map((n) => ctx.tool('echo', { own: inputs.own, n })))
  const held = 'x'.repeat(1e5)
  return [seen, held.length, results.map(({ output }) => JSON.parse(output).own)]
}`

const one = async (own: number): Promise<void> => {
  const outcome = await machine.run({ source, inputs: { own }, host, startedAt: own })
  expect(outcome).toMatchObject({ ok: true, result: [1, 100_000, [own, own, own]] })
}

describe('many programs', () => {
  it(`${inARow} in a row leave nothing behind`, { timeout: 120_000 }, async () => {
    for (let own = 0; own < inARow / 4; own++) await one(own)
    // The heap of the process, which other tests have filled too, may grow once. A leak grows every time.
    let grown = Number.POSITIVE_INFINITY
    for (let attempt = 0; attempt < 3 && grown >= maxGrownMiB; attempt++) {
      const before = process.memoryUsage().rss
      for (let own = 0; own < inARow; own++) await one(own)
      grown = (process.memoryUsage().rss - before) / 1024 / 1024
      console.info(`${inARow} programs in a row: ${grown.toFixed(1)} MiB more than before`)
    }
    expect(grown).toBeLessThan(maxGrownMiB)
  })

  it(`${atOnce} at once see only their own data`, { timeout: 120_000 }, async () => {
    await Promise.all(Array.from({ length: atOnce }, (_, own) => one(own)))
  })
})
