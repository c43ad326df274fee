/** However and whenever a parent is stopped: no child, no process and no question is left, and the history is whole. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { AgentEvent } from '../../src/loop/events.js'
import { kernelOf } from '../../src/session/session-class.js'
import { MemorySessionStore } from '../../src/store/memory-store.js'
import { expectWhole, stateOf } from '../persistence/kept.js'
import { processesWith } from '../security/sandbox/support/processes.js'
import { propertyRuns } from '../support/property-runs.js'
import { byPrompt, call, type Opened, open } from './subagents.js'

/** Children that run commands, wait for a person, hang, and hand on again; one in the background. */
function busy(seconds: string) {
  return byPrompt(({ prompt, turn }) => {
    if (prompt === 'Begin') {
      if (turn === 0) return call('task', { prompt: 'wait', background: true })
      const tasks = ['wait', 'ask', 'hang', 'look'].map((one) => ({ agent: 'general', prompt: one }))
      return turn === 1 ? call('parallel_task', { tasks }) : 'done'
    }
    if (turn > 0) return 'done'
    if (prompt === 'wait') return call('bash', { command: `sleep ${seconds}` })
    if (prompt === 'ask') return call('bash', { command: 'touch asked' })
    if (prompt === 'look') return call('ls', { path: '.' })
    return { text: 'thinking', hang: true }
  })
}

const ways = {
  cancel: async ({ session }: Opened) => void session.cancel(),
  close: ({ session }: Opened) => session.close(),
  closeAgent: ({ agent }: Opened) => agent.close(),
  cancelRun: async ({ session }: Opened) =>
    void (await session.cancelRun((await session.currentRun())?.id ?? '')),
  leave: async () => undefined,
}

it.skipIf(process.platform !== 'linux')(
  'stopping a parent at any moment leaves nothing behind',
  async () => {
    let attempt = 0
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...(Object.keys(ways) as (keyof typeof ways)[])),
        fc.integer({ min: 0, max: 45 }),
        async (way, moment) => {
          const seconds = `${86_000 + process.pid}.${++attempt}`
          const store = new MemorySessionStore()
          const opened = await open({
            model: busy(seconds),
            sessionStore: store,
            permissionPolicy: { allow: ['bash(sleep *)'] },
            confirmationPolicy: { enabled: true },
          })
          const { session } = opened
          const seen: AgentEvent['type'][] = []
          const stream = await session.stream('Begin')
          const stop = setTimeout(() => void stream.return(), 400)
          for await (const event of stream) {
            seen.push(event.type)
            if (seen.length === moment + 1) {
              if (way === 'leave') break
              await ways[way](opened)
            }
          }
          clearTimeout(stop)
          if (!session.isClosed) await kernelOf(session).queue.settled
          expect(await session.pendingSubagentTasks()).toEqual([])
          expect(session.pendingConfirmations()).toEqual([])
          expect(processesWith(`sleep ${seconds}`)).toEqual([])
          const state = await stateOf(store, session.sessionId)
          const statuses = [...state.tasks.values()].map(({ status }) => status)
          expect(statuses.filter((status) => status === 'running' || status === 'queued')).toEqual([])
          await opened.agent.close()
          if (way === 'close' || way === 'closeAgent') return
          // A resumed session finds every call answered.
          const again = await open({
            model: byPrompt(() => 'fine'),
            sessionStore: store,
            sessionId: session.sessionId,
          })
          await again.session.send('Continue')
          const { messages } = await stateOf(store, session.sessionId)
          expectWhole(messages.map(({ message }) => message))
        },
      ),
      { numRuns: propertyRuns(30) },
    )
  },
  120_000,
)
