/**
 * FT-20: many sessions in one process, over real HTTP. Short form: 100 sessions open, 25 running at once;
 * `FAULT_FACTOR=5` or more: 1,000 and 200. Every session has a word of its own that no other may hear. Figures are
 * printed; those that depend on the machine are only held to wide bounds.
 *
 * FT-21, in part: 320 runs (`FAULT_FACTOR` times as many) in one session of the same process, three windows after a
 * warm-up, leave only its history. The short form is partly code that the engine still compiles; the long one shows the
 * slope.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ModelServer, startModelServer } from '../../src/testing/index.js'
import { factor } from '../support/fault-factor.js'
import { type Host, startHost } from '../support/host-process.js'

const size = factor >= 5 ? { open: 1000, running: 200 } : { open: 100, running: 25 }
const rounds = factor >= 5 ? 4 : 2
/** How many bytes a session may hold when it rests after its run. */
const most = 24 * 1024
const again =
  factor > 1
    ? [
        { runs: 160 * factor, keep: false },
        { runs: 100, keep: true },
      ]
    : [{ runs: 160, keep: false }]

/**
 * Says the word of the prompt in so many calls, then as its answer; notes prompts in which it finds more than one word.
 */
async function canaryServer(): Promise<ModelServer & { mixed(): number }> {
  let mixed = 0
  const server = await startModelServer(({ body }) => {
    const { messages } = body as unknown as { messages: { role: string; content: unknown }[] }
    const words = new Set(JSON.stringify(messages).match(/canary-\w+/g))
    const last = messages.slice(messages.findLastIndex(({ role }) => role === 'user'))
    const word = String(JSON.stringify(last[0]).match(/canary-\w+/)?.[0])
    if (words.size > 1 && word.startsWith('canary-s')) mixed += 1
    const round = last.filter(({ role }) => role === 'tool').length
    // Runs that follow each other in one session have one call each, and need not overlap.
    const isAgain = word.startsWith('canary-a')
    const delayMs = isAgain ? 0 : 50
    if (round < (isAgain ? 1 : rounds))
      return { delayMs, toolCalls: [{ name: 'echo', args: { word: `${word} ${round}` } }] }
    return { delayMs, text: `You said ${word}.` }
  })
  return { ...server, mixed: () => mixed }
}

let server: Awaited<ReturnType<typeof canaryServer>>
let host: Host
let atOnce: Record<string, unknown>
const ofRuns: Record<string, unknown>[] = []

beforeAll(async () => {
  server = await canaryServer()
  host = startHost('faults/many-sessions-host.mjs', { url: server.url, rounds, ...size, most, again }, [
    '--expose-gc',
  ])
  atOnce = await host.next()
  for (const _ of again) ofRuns.push(await host.next())
}, 480_000)
afterAll(async () => {
  host.child.kill('SIGKILL')
  await server.close()
})

describe('FT-20: many sessions', () => {
  it('open and running at once: each gets its own answers, and all of them finish', () => {
    console.info(`FT-20: ${JSON.stringify({ ...size, ...atOnce })}`)
    expect(atOnce).toMatchObject({ finished: size.open, strangers: 0, aliveAfterClose: 0 })
    expect(server.mixed()).toBe(0)
    expect(atOnce['idlePerSession']).toBeLessThan(15 * 1024)
    expect(atOnce['usedPerSession']).toBeLessThan(most)
    expect(atOnce['rssMb']).toBeLessThan(1536)
  })
})

describe('FT-21: one session', () => {
  it.each([...again.entries()].map(([at, { keep }]) => [keep, at] as const))(
    'that runs again and again does not grow (keeps its history: %s)',
    (keep, at) => {
      const figures = ofRuns[at] ?? {}
      console.info(`FT-21: ${JSON.stringify({ ...again[at], ...figures })}`)
      // With its history: what four messages take. Without: nothing, give or take what the collector has not looked at.
      expect(figures['bytesPerRun']).toBeLessThan(keep ? 6000 : factor > 1 ? 600 : 2000)
      expect(Number(figures['handlesAfter'])).toBeLessThanOrEqual(Number(figures['handles']) + 2)
    },
  )
})

it('a process that had many sessions ends by itself', async () => {
  expect(await host.exited).toEqual({ code: 0, signal: null })
})
