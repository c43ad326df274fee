import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import type { RunEvent } from '../../src/session/run-events.js'
import { FileSessionStore, MemorySessionStore, SqliteSessionStore } from '../../src/store/index.js'
import type { SessionStore } from '../../src/store/session-store.js'
import { scriptedModel } from '../../src/testing/index.js'

let place: string
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'capstan-numbers-'))
})
afterEach(() => rmSync(place, { recursive: true, force: true }))

const pieces = new Set(['text_delta', 'reasoning_delta', 'tool_input_delta', 'tool_output_delta'])
const long = 'word '.repeat(2_000)

async function liveAndRestored(store: SessionStore): Promise<{ live: RunEvent[]; restored: RunEvent[] }> {
  const agent = await Agent.create()
  const session = agent.session(place, {
    sessionId: 's',
    sessionStore: store,
    mode: 'full',
    model: scriptedModel([
      {
        reasoning: 'I should write it.',
        text: 'I write a file with several words.',
        toolCalls: [{ name: 'write', args: { file_path: 'a.txt', content: long } }],
      },
      { text: 'Now I read it back.', toolCalls: [{ name: 'read', args: { file_path: 'a.txt' } }] },
      'The file is there, and it is complete.',
    ]),
  })
  const { runId } = await session.send(`Write a file. ${long}`)
  const live = await session.runEvents(runId)
  await agent.close()
  const next = await Agent.create()
  const restored = await (await next.openSession('s', { sessionStore: store })).runEvents(runId)
  await next.close()
  return { live, restored }
}

describe('sequence numbers of events', () => {
  it.each([
    ['file', () => new FileSessionStore(join(place, 'sessions'))],
    ['sqlite', () => new SqliteSessionStore(join(place, 'sessions.db'))],
    ['memory', () => new MemorySessionStore()],
  ])('are the same after a restart, with the same events and complete texts (%s)', async (_, open) => {
    const store: SessionStore = open()
    const { live, restored } = await liveAndRestored(store)
    // The end is written just before it is emitted, so its time is earlier in the log.
    const others = (events: readonly RunEvent[]) =>
      events
        .filter(({ event }) => !pieces.has(event.type))
        .map(({ sequence, event }) => ({ sequence, event }))
    expect(others(restored)).toEqual(others(live))
    const texts = restored.filter(({ event }) => event.type === 'text_delta')
    expect(texts.map(({ event }) => event.text)).toEqual([
      'I write a file with several words.',
      'Now I read it back.',
      'The file is there, and it is complete.',
    ])
    const numbers = restored.map(({ sequence }) => sequence)
    expect(numbers).toEqual([...numbers].sort((a, b) => a - b))
    // Each whole text has the number of its last piece.
    for (const { sequence, event } of restored.filter(
      ({ event }) => event.type.endsWith('g_delta') || event.type === 'text_delta',
    ))
      expect(live.find((one) => one.sequence === sequence)?.event.type).toBe(event.type)
    await store.close?.()
  })

  it('let a reader that had part of a text continue from its number after a restart', async () => {
    const store = new MemorySessionStore()
    const { live } = await liveAndRestored(store)
    const first = live.find(({ event }) => event.type === 'text_delta')
    const next = await Agent.create()
    const session = await next.openSession('s', { sessionStore: store })
    const [run] = await session.runs()
    const rest: RunEvent[] = []
    for await (const one of session.watch(run?.id ?? '', { from: first?.sequence ?? 0 })) rest.push(one)
    expect(rest[0]?.event).toEqual({
      type: 'text_delta',
      text: 'I write a file with several words.',
      whole: true,
    })
    expect(rest.at(-1)?.event).toEqual(live.at(-1)?.event)
    await next.close()
  })

  it('are not given to a second run with the same id', async () => {
    const agent = await Agent.create()
    const session = agent.session(place, { model: scriptedModel(['One.', 'Two.']) })
    expect((await session.send({ prompt: 'a', runId: 'mine' })).runId).toBe('mine')
    await expect(session.send({ prompt: 'a', runId: 'mine' })).rejects.toMatchObject({ code: 'run_exists' })
    await agent.close()
  })
})
