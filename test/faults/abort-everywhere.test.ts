/**
 * A run of several rounds, with tools side by side, a command and an approval, is cancelled at each of its events in
 * turn: `send` rejects with `cancelled` within two seconds, every call in the history has its result, nothing waits for
 * a yes, no process is left, and the next `send` works. The same once more by closing the session.
 */
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { Agent } from '../../src/agent/agent.js'
import type { SessionOptions } from '../../src/session/options.js'
import type { Session } from '../../src/session/session.js'
import { scriptedModel } from '../../src/testing/index.js'
import type { CompletionRequest } from '../../src/tool/completion.js'
import { createJsonTool } from '../../src/tool/create-json-tool.js'
import { waitForProcesses } from '../security/sandbox/support/processes.js'
import { factor } from '../support/fault-factor.js'
import { expectWellFormed, percentile, sessionWith } from './support.js'

const slow = createJsonTool<{ word: string }>({
  name: 'slow',
  description: 'Takes a moment.',
  parameters: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
  async execute({ word }, { progress }) {
    progress?.(`${word}…`)
    await new Promise((resolve) => setTimeout(resolve, 10))
    return word
  },
})

/** How many rounds of tools there were since the user last spoke. */
function roundOf({ chatHistory }: CompletionRequest): number {
  const since = chatHistory.slice(chatHistory.findLastIndex(({ role }) => role === 'user'))
  return since.filter(({ role }) => role === 'tool').length
}

function options(word: string): SessionOptions {
  return {
    model: scriptedModel((request) => {
      const round = roundOf(request)
      if (round === 0)
        return {
          text: 'Looking.',
          reasoning: 'Hm.',
          toolCalls: [
            { name: 'slow', args: { word: 'a' } },
            { name: 'slow', args: { word: 'b' } },
            { name: 'todo', args: { todos: [{ content: 'x', status: 'pending' }] } },
          ],
        }
      if (round === 1)
        return {
          toolCalls: [
            { name: 'bash', args: { command: 'echo up; sleep 0.05; echo down' } },
            { name: 'slow', args: { word: 'c' } },
          ],
        }
      return 'All done.'
    }),
    tools: [slow],
    permissionPolicy: { allow: ['slow', 'todo'], ask: ['bash'] },
    onAsk: async () => {
      await new Promise((resolve) => setTimeout(resolve, 5))
      return { decision: 'once' }
    },
    env: { WORD: word },
  }
}

/** Sends, and calls back at event number `k` (from 1). Gives how `send` ended and how long that took from there. */
async function sendUntil(
  session: Session,
  k: number,
  then: () => unknown,
): Promise<{ readonly ended: unknown; readonly ms: number; readonly seen: number; readonly taken: unknown }> {
  const sending = session.send('Go.').catch((error: unknown) => error)
  const run = await session.currentRun()
  let seen = 0
  let at = 0
  let taken: unknown
  for await (const _ of session.watch(run?.id ?? '')) {
    seen += 1
    if (seen !== k) continue
    at = performance.now()
    taken = then()
  }
  const ended = await sending
  return { ended, ms: performance.now() - at, seen, taken }
}

async function inBatches(count: number, atOnce: number, work: (k: number) => Promise<void>): Promise<void> {
  for (let k = 1; k <= count; k += atOnce)
    await Promise.all(Array.from({ length: Math.min(atOnce, count - k + 1) }, (_, at) => work(k + at)))
}

async function recorded(): Promise<{
  readonly agent: Agent
  readonly root: string
  readonly events: number
}> {
  const { session, agent, root } = await sessionWith(undefined, options('none'))
  const { ended, seen } = await sendUntil(session, Number.POSITIVE_INFINITY, () => undefined)
  expect(ended).toMatchObject({ text: 'All done.', toolCallsCount: 5 })
  return { agent, root, events: seen }
}

/** The two tests share the events between them; `npm run faults` has both try each. */
const isTried = (k: number, rest: number): boolean => factor > 1 || k % 2 === rest

describe('a run', () => {
  it('is cancelled at each of its events in turn', async () => {
    const { agent, root, events } = await recorded()
    const word = randomUUID()
    const times: number[] = []
    await inBatches(events - 1, 4, async (k) => {
      if (!isTried(k, 1)) return
      const session = agent.session(root, { sandbox: 'off', ...options(word) })
      const { ended, ms, taken } = await sendUntil(session, k, () => session.cancel())
      times.push(ms)
      // A reader on a busy machine can get one of the last events after the run has ended.
      const isLate = taken === false && k > events - 5
      expect([k, taken]).toEqual([k, !isLate])
      expect(ended, `event ${k}`).toMatchObject(isLate ? { text: 'All done.' } : { code: 'cancelled' })
      expectWellFormed(session)
      expect(session.pendingConfirmations()).toEqual([])
      expect((await session.runs())[0]).toMatchObject({ status: isLate ? 'completed' : 'cancelled' })
      expect((await session.send('Again.')).text).toBe('All done.')
      expectWellFormed(session)
      await session.close()
    })
    expect(await waitForProcesses(word, (left) => left === 0, 0)).toEqual([])
    console.info(
      `cancelled at each of ${events - 1} events: median ${Math.round(percentile(times, 0.5))} ms, slowest ${Math.round(Math.max(...times))} ms`,
    )
  })

  it('is ended by closing its session at each of its events in turn', async () => {
    const { agent, root, events } = await recorded()
    const word = randomUUID()
    const times: number[] = []
    await inBatches(events - 1, 4, async (k) => {
      if (!isTried(k, 0)) return
      const session = agent.session(root, { sandbox: 'off', ...options(word) })
      let closing: Promise<void> | undefined
      const { ended, ms } = await sendUntil(session, k, () => {
        closing = session.close()
      })
      await closing
      times.push(ms)
      expect(ended, `event ${k}`).toMatchObject({ code: 'session_closed' })
      expectWellFormed(session)
      expect(session.pendingConfirmations()).toEqual([])
      await expect(session.send('Again.')).rejects.toMatchObject({ code: 'session_closed' })
    })
    expect(await waitForProcesses(word, (left) => left === 0, 0)).toEqual([])
    expect(await agent.listSessions()).toHaveLength(1)
  })
})
