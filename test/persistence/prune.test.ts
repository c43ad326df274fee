import { stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Agent } from '../../src/agent/agent.js'
import { FileSessionStore } from '../../src/store/file/file-session-store.js'
import { MemorySessionStore } from '../../src/store/memory-store.js'
import { pruneSession } from '../../src/store/prune-session.js'
import type { PartRow, SessionRecord } from '../../src/store/records.js'
import type { SessionStore } from '../../src/store/session-store.js'
import { SqliteSessionStore } from '../../src/store/sqlite/sqlite-store.js'
import { scriptedModel } from '../../src/testing/scripted-model.js'
import { type Ledger, notingTool, planModel, recordsOf, stateOf, storeWith } from './kept.js'
import { openAgentPlace } from './open-agent.js'

let base: string
let work: string
let agent: Agent
beforeEach(async () => {
  const place = await openAgentPlace()
  base = place.base
  work = place.work
  agent = place.agent
})

const words = ['a', 'b', 'c', 'd', 'e', 'f']
const rounds = words.map((word) => [{ tool: 'note', word }])

async function fill(store: SessionStore, runs = 3): Promise<void> {
  for (let run = 0; run < runs; run++) {
    const session = agent.session(work, {
      sessionId: 's',
      sessionStore: store,
      tools: [notingTool({ begun: [], done: [] })],
      permissionPolicy: { allow: ['note', 'write'] },
      model:
        run === 1
          ? scriptedModel([
              { toolCalls: [{ name: 'write', args: { file_path: 'a.txt', content: 'mine\n' } }] },
              'written',
            ])
          : planModel(rounds),
    })
    await session.send(`run ${run}`)
    await session.close()
  }
}

const memory = (): SessionStore => new MemorySessionStore()
describe.each<[string, () => SessionStore]>([
  ['memory', memory],
  ['files', () => new FileSessionStore(join(base, 'sessions'))],
  ['SQLite', () => new SqliteSessionStore(join(base, 'sessions.db'))],
])('a session in %s that is pruned', (_, makeStore) => {
  it('has the same history as before, in fewer records, and continues', async () => {
    const store = makeStore()
    await writeFile(join(work, 'a.txt'), 'theirs\n')
    await fill(store)
    const before = await stateOf(store, 's')
    const count = (await recordsOf(store, 's')).length
    const open = agent.resumeSession('s', { sessionStore: store })
    const [runs, history] = [await open.runs(), open.history()]
    await open.close()

    const pruned = await agent.pruneSession('s', { sessionStore: store, keepRuns: 1 })
    expect(pruned.records).toBeLessThan(count * 0.6)
    expect(Object.keys(pruned.dropped).toSorted()).toEqual(['checkpoint', 'part', 'run_event'])
    expect(pruned.records + Object.values(pruned.dropped).reduce((sum, n) => sum + n)).toBe(count)
    const after = await stateOf(store, 's')
    expect(after.events.get(runs[2]?.id ?? '')).toEqual(before.events.get(runs[2]?.id ?? ''))
    expect(after.events.get(runs[0]?.id ?? '')).toHaveLength(1)
    expect({ ...after, events: 0 }).toEqual({ ...before, events: 0 })
    expect(await agent.pruneSession('s', { sessionStore: store, keepRuns: 1 })).toEqual({
      records: pruned.records,
      dropped: {},
    })

    const resumed = agent.resumeSession('s', { sessionStore: store, model: scriptedModel(['and on']) })
    expect(resumed.history()).toEqual(history)
    // Counts stay true.
    expect(await resumed.runs()).toEqual(runs)
    expect(await resumed.undo(runs[1]?.id)).toMatchObject({ restored: ['a.txt'] })
    expect((await resumed.send('continue')).text).toBe('and on')
    await resumed.close()
    await store.close?.()
  })

  it('is rejected while another process holds the session, and for an unknown session', async () => {
    const store = makeStore()
    const session = agent.session(work, {
      sessionId: 's',
      sessionStore: store,
      model: scriptedModel(['hello']),
    })
    await session.send('hi')
    await expect(agent.pruneSession('s', { sessionStore: store })).rejects.toMatchObject({
      code: 'session_locked',
    })
    await session.close()
    await expect(agent.pruneSession('other', { sessionStore: store })).rejects.toMatchObject({
      code: 'store_not_found',
    })
    await store.close?.()
  })
})

it('an interrupted run resumes after pruning as it would have before', async () => {
  const store = new MemorySessionStore()
  await fill(store, 1)
  const records = await recordsOf(store, 's')
  const runId = records.flatMap(({ type, data }) => (type === 'run' ? [data.id] : []))[0] ?? ''
  for (let length = 1; length <= records.length; length += 3) {
    const outcomes: unknown[] = []
    for (const pruned of [false, true]) {
      const copy = await storeWith('s', records.slice(0, length))
      if (pruned) await pruneSession(copy, 's', { now: () => 0 })
      const ledger: Ledger = { begun: [], done: [] }
      const session = agent.session(work, {
        sessionId: 's',
        sessionStore: copy,
        tools: [notingTool(ledger)],
        permissionPolicy: { allow: ['note'] },
        model: planModel(rounds),
      })
      const result = await session.resumeRun(runId).catch((error: Error) => error.message)
      await session.close()
      outcomes.push([ledger, typeof result === 'string' ? result : { ...result, runId: '' }])
    }
    expect(outcomes[1], `${length} records`).toEqual(outcomes[0])
  }
})

it('the steps of a call are removed with its result, also those that are stored next to the log', async () => {
  const part = (id: string, content: PartRow['content']): SessionRecord => ({
    type: 'part',
    data: { id, messageId: 'm', sessionId: 's', index: -1, content },
  })
  const step = { type: 'tool_step', callId: 'one', step: null } as const
  const stored = part('b', { type: 'blob', digest: 'd', bytes: 9, stub: step })
  const row = { id: 's', schemaVersion: 1, updatedAtMs: 1 }
  const start: SessionRecord[] = [{ type: 'session', data: row }, part('a', step), stored]
  const result = part('c', { type: 'tool_result', id: 'one', content: [] })
  for (const [records, kept] of [
    [start, start.length],
    [[...start, result], 2],
  ] as const) {
    const store = await storeWith('s', records)
    expect((await pruneSession(store, 's', { now: () => 0 })).records).toBe(kept)
  }
})

it('pruning frees disk space', async () => {
  const store = new FileSessionStore(join(base, 'sessions'))
  await fill(store)
  const path = join(base, 'sessions', 's', 'log.jsonl')
  const before = (await stat(path)).size
  await agent.pruneSession('s', { sessionStore: store })
  expect((await stat(path)).size).toBeLessThan(before * 0.7)
  expect((await stat(path)).mode & 0o777).toBe(0o600)
})
