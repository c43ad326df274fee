/**
 * FT-20: many sessions in one process, over real HTTP. Short form: 100 sessions open, 25 running at once;
 * `FAULT_FACTOR=5` or more: 1,000 and 200. Every session has a word of its own that no other may hear. Figures are
 * printed; those that depend on the machine are only held to wide bounds.
 *
 * FT-21, in part: 320 runs (`FAULT_FACTOR` times as many) in one session, three windows after a warm-up, leave only
 * its history. The short form is mostly code that the engine still compiles; the long one shows the slope.
 */
import { describe, expect, it } from 'vitest'
import { openServer } from '../contract/open-session.js'
import { factor } from '../support/fault-factor.js'
import { startHost } from '../support/host-process.js'

const size = factor >= 5 ? { open: 1000, running: 200 } : { open: 100, running: 25 }

/**
 * Says the word of the prompt in so many calls, then as its answer; notes prompts in which it finds more than one word.
 */
async function canaryServer(rounds: number, delayMs: number): Promise<{ url: string; mixed(): number }> {
  let mixed = 0
  const server = await openServer(({ body }) => {
    const { messages } = body as unknown as { messages: { role: string; content: unknown }[] }
    const words = new Set(JSON.stringify(messages).match(/canary-\w+/g))
    const last = messages.slice(messages.findLastIndex(({ role }) => role === 'user'))
    const word = String(JSON.stringify(last[0]).match(/canary-\w+/)?.[0])
    if (words.size > 1 && word.startsWith('canary-s')) mixed += 1
    const round = last.filter(({ role }) => role === 'tool').length
    if (round < rounds) return { delayMs, toolCalls: [{ name: 'echo', args: { word: `${word} ${round}` } }] }
    return { delayMs, text: `You said ${word}.` }
  })
  return { url: server.url, mixed: () => mixed }
}

describe('FT-20: many sessions', () => {
  it('open and running at once: each gets its own answers, and all of them finish', async () => {
    const rounds = factor >= 5 ? 4 : 2
    const server = await canaryServer(rounds, 50)
    const host = startHost('faults/many-sessions-host.mjs', { url: server.url, rounds, ...size }, [
      '--expose-gc',
    ])
    const figures = await host.next()
    console.info(`FT-20: ${JSON.stringify({ ...size, ...figures })}`)
    expect(figures).toMatchObject({ finished: size.open, strangers: 0, aliveAfterClose: 0 })
    expect(server.mixed()).toBe(0)
    expect(await host.exited).toEqual({ code: 0, signal: null })
    expect(figures['idlePerSession']).toBeLessThan(15 * 1024)
    expect(figures['usedPerSession']).toBeLessThan(64 * 1024)
    expect(figures['rssMb']).toBeLessThan(1536)
  }, 240_000)
})

describe('FT-21: one session', () => {
  it.each(factor > 1 ? [false, true] : [false])(
    'that runs again and again does not grow (keeps its history: %s)',
    async (keep) => {
      const runs = 160 * factor
      const server = await canaryServer(1, 0)
      const order = { url: server.url, runs: keep ? 100 : runs, keep, rounds: 1 }
      const host = startHost('faults/many-sessions-host.mjs', order, ['--expose-gc'])
      const figures = await host.next()
      console.info(`FT-21: ${JSON.stringify({ ...order, ...figures })}`)
      // With its history: what four messages take. Without: nothing, give or take what the collector has not looked at.
      expect(figures['bytesPerRun']).toBeLessThan(keep ? 6000 : factor > 1 ? 600 : 2000)
      expect(Number(figures['handlesAfter'])).toBeLessThanOrEqual(Number(figures['handles']) + 2)
      expect(await host.exited).toEqual({ code: 0, signal: null })
    },
    240_000,
  )
})
