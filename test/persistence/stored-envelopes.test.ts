/** What a log has of the result of a call: all of its envelope, under the id of the call. */
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import { type ReplayStep, replaySession } from '../../src/session/replay/replay-session.js'
import { FileSessionStore } from '../../src/store/file/file-session-store.js'
import type { SessionStore } from '../../src/store/session-store.js'
import { openDatabase } from '../../src/store/sqlite/driver.js'
import { SqliteSessionStore } from '../../src/store/sqlite/sqlite-store.js'
import { scriptedModel } from '../../src/testing/scripted-model.js'
import { createJsonTool } from '../../src/tool/create-json-tool.js'
import { type Envelope, errorEnvelope, outputEnvelope } from '../../src/tool/envelope.js'
import { makeWorkspace, whenDone } from '../contract/open-session.js'
import { temporaryDirectory } from '../support/temporary-directory.js'
import { recordsOf, stateOf } from './kept.js'

const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const long = 'long '.repeat(20_000)
const gives: Readonly<Record<string, () => unknown>> = {
  text: () => 'short',
  long: () => long,
  data: () => outputEnvelope({ found: [1, 2], deep: { a: null } }, { hits: 2 }),
  failed: () => errorEnvelope('it is broken', { exit_code: 3 }),
  parts: () => [
    { type: 'text', text: 'a picture' },
    { type: 'image', data: pixel, mediaType: 'image/png' },
  ],
  nothing: () => undefined,
  cut: () => 'x'.repeat(300_000),
}
const expected: Readonly<Record<string, object>> = {
  text: { type: 'output', data: 'short', metadata: { duration_ms: expect.any(Number) } },
  long: { type: 'output', data: long },
  data: { type: 'output', data: { found: [1, 2], deep: { a: null } }, metadata: { hits: 2 } },
  failed: { type: 'error', error_text: 'it is broken', metadata: { exit_code: 3 } },
  parts: { type: 'output', data: gives['parts']?.() },
  nothing: { type: 'output', data: null },
  cut: {
    type: 'output',
    data: { head: 'x'.repeat(204_800), bytes: 300_000 },
    metadata: { truncated: true, output_path: expect.any(String) },
  },
}
const names = Object.keys(gives)

const stores: [string, (place: string) => SessionStore][] = [
  ['file', (place) => new FileSessionStore(place)],
  ['sqlite', (place) => new SqliteSessionStore(join(place, 'all.db'))],
]

describe.each(stores)('with the store "%s"', (kind, openStore) => {
  async function recorded() {
    const { base, root, userDir } = await makeWorkspace()
    const place = join(base, 'sessions')
    const sessionStore = openStore(place)
    const agent = await Agent.create({}, { userDir, env: {} })
    whenDone(() => agent.close())
    const session = agent.session(root, {
      sessionId: 'kept',
      sessionStore,
      sandbox: 'off',
      builtinTools: ['read'],
      permissionPolicy: { defaultDecision: 'allow' },
      tools: names.map((name) =>
        createJsonTool({
          name,
          description: '',
          parameters: { type: 'object' },
          execute: () => gives[name]?.(),
        }),
      ),
      model: scriptedModel(
        [{ toolCalls: names.map((name) => ({ id: `call_${name}`, name, args: {} })) }, 'done'],
        { facts: { contextTokens: 10_000_000 } },
      ),
    })
    await session.send('go')
    return { agent, session, sessionStore, place, root }
  }
  const envelopesIn = async (store: SessionStore, id: string) => {
    const { order } = await stateOf(store, id)
    const results = order.find(({ message }) => message.role === 'tool')
    return results?.envelopes ?? []
  }

  it('keeps the whole envelope of each result, and a replay returns it', async () => {
    const { session, sessionStore } = await recorded()
    await session.close()
    const envelopes = await envelopesIn(sessionStore, 'kept')
    for (const [at, name] of names.entries()) expect(envelopes[at], name).toMatchObject(expected[name] ?? {})
    const state = await stateOf(sessionStore, 'kept')
    const steps: ReplayStep[] = []
    for await (const step of replaySession(state)) steps.push(step)
    expect(steps.at(-1)).toMatchObject({ type: 'end' })
    const results = steps.find((step) => step.type === 'message' && step.message.role === 'tool')
    expect(results).toMatchObject({ envelopes })
    // What a model receives has no envelopes in it.
    expect(JSON.stringify(results?.type === 'message' && results.message)).not.toContain('duration_ms')
  })

  it('keeps it in the log that a fork and a resumed session write', async () => {
    const { agent, session, sessionStore } = await recorded()
    const fork = await agent.forkSession(session, { sessionId: 'fork', sessionStore })
    await fork.close()
    await session.close()
    expect(await envelopesIn(sessionStore, 'fork')).toEqual(await envelopesIn(sessionStore, 'kept'))
    const again = agent.resumeSession('kept', { sessionStore, model: scriptedModel(['aye']) })
    expect((await again.send('and?')).text).toBe('aye')
    expect(JSON.stringify(again.history())).not.toContain('duration_ms')
  })

  it('stores long texts once', async () => {
    const { session, sessionStore } = await recorded()
    await session.close()
    const records = await recordsOf(sessionStore, 'kept')
    const part = records.find(
      ({ type, data }) =>
        type === 'part' &&
        JSON.stringify(data).includes('"call_long"') &&
        'content' in data &&
        data.content.type === 'blob',
    )
    const bytes = part?.type === 'part' && part.data.content.type === 'blob' ? part.data.content.bytes : 0
    expect(bytes).toBeGreaterThan(long.length)
    expect(bytes).toBeLessThan(long.length + 1_000)
  })

  if (kind === 'sqlite')
    it('shows the id of the call and the envelope in chat_parts', async () => {
      const { session, sessionStore, place } = await recorded()
      await session.close()
      await sessionStore.close?.()
      const rows = rowsIn(join(place, 'all.db'))
      const ids = names.map((name) => `call_${name}`)
      expect(rows.filter(({ type }) => type === 'tool_call').map(({ tool_call_id }) => tool_call_id)).toEqual(
        ids,
      )
      const results = rows.filter(({ envelope_json }) => envelope_json !== null)
      expect(results.map(({ tool_call_id }) => tool_call_id)).toEqual(ids)
      const [text, , data, failed] = results.map(
        (row) => JSON.parse(String(row['envelope_json'])) as Envelope,
      )
      expect([text, data, failed]).toMatchObject([expected['text'], expected['data'], expected['failed']])
    })
})

describe('a database of an earlier version', () => {
  it('shows the ids of its calls and results once it was opened', async () => {
    const place = temporaryDirectory()
    await cp(join('test', 'golden', 'session-sqlite', 'v1'), place, { recursive: true })
    const file = join(place, 'sessions.db')
    const store = new SqliteSessionStore(file)
    await store.list()
    await store.close()
    const rows = rowsIn(file).filter(({ type }) => type === 'tool_call' || type === 'tool_result')
    expect(rows.length).toBeGreaterThan(1)
    for (const { tool_call_id } of rows) expect(tool_call_id).toEqual(expect.any(String))
  })
})

function rowsIn(file: string): readonly Readonly<Record<string, unknown>>[] {
  const database = openDatabase(file)
  try {
    return database.prepare('SELECT type, tool_call_id, envelope_json FROM chat_parts ORDER BY seq').all()
  } finally {
    database.close()
  }
}
