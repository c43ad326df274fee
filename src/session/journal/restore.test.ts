import { describe, expect, it } from 'vitest'
import { noUsage } from '../../loop/usage.js'
import { foldSession } from '../../store/fold-session.js'
import { MemorySessionStore } from '../../store/memory-store.js'
import type { PartRow, SessionRecord } from '../../store/records.js'
import type { SessionOptions } from '../options.js'
import { restoredSpending } from '../spending.js'
import { familyOf, lastCheckpoint, load, loadNow, optionsToKeep, totalsOf, withRestored } from './restore.js'

const usage = (totalTokens: number) => ({ ...noUsage, totalTokens })
const session = (fields: object = {}): SessionRecord => ({
  type: 'session',
  data: { id: 's', schemaVersion: 1, updatedAtMs: 0, ...fields },
})
const run = (id: string, resumedFrom?: string): SessionRecord => ({
  type: 'run',
  data: {
    id,
    sessionId: 's',
    status: 'completed',
    prompt: 'go',
    createdAtMs: 0,
    updatedAtMs: 0,
    ...(resumedFrom !== undefined && { resumedFrom }),
  },
})
function message(
  id: string,
  role: 'user' | 'assistant' | 'tool',
  runId: string,
  tokens?: number,
): SessionRecord[] {
  const row = { id, sessionId: 's', role, createdAtMs: 0, runId }
  const content: PartRow['content'] =
    role === 'tool'
      ? { type: 'tool_result', id: `c${id}`, content: [{ type: 'text', text: 'ok' }] }
      : { type: 'text', text: id }
  return [
    { type: 'message', data: tokens === undefined ? row : { ...row, usage: usage(tokens) } },
    { type: 'part', data: { id: `${id}.0`, messageId: id, sessionId: 's', index: 0, content } },
  ]
}
const checkpoint = (runId: string, round: number, messageId: string): SessionRecord => ({
  type: 'checkpoint',
  data: { runId, sessionId: 's', round, messageId, toolCallsCount: 2, usage: usage(10), atMs: 0 },
})

describe('the options of a session', () => {
  it('are saved as far as they are plain data, never with code or keys of the host', () => {
    const options = {
      role: 'a cook',
      maxTokens: 5,
      permissionPolicy: { allow: ['read'] },
      temperature: undefined,
      onAsk: () => ({ decision: 'reject' }),
      env: { TOKEN: 'hunter2' },
      model: 'openai/x',
      tools: [],
      hostEnv: {},
    } as unknown as SessionOptions
    expect(optionsToKeep(options)).toEqual({
      role: 'a cook',
      maxTokens: 5,
      permissionPolicy: { allow: ['read'] },
      model: 'openai/x',
    })
    expect(optionsToKeep({ model: {} as never })).toEqual({})
  })

  it('that are given now override those of the log, which can only restrict', () => {
    const fold = (row: Parameters<typeof session>[0]) => ({ ...foldSession([session(row)]), recordCount: 1 })
    const state = fold({
      options: { role: 'a cook', maxTokens: 5, sandbox: 'off' },
      labels: { tenantId: 'acme' },
      mode: 'plan',
    })
    expect(withRestored({ role: 'a pilot' }, state)).toEqual({
      options: { role: 'a pilot', maxTokens: 5, tenantId: 'acme', mode: 'plan' },
      leftOut: ['sandbox'],
    })
    expect(withRestored({ role: 'a pilot' }, undefined)).toEqual({
      options: { role: 'a pilot' },
      leftOut: [],
    })
    expect(withRestored({}, fold({ mode: null }))).toEqual({ options: {}, leftOut: [] })
    expect(withRestored({}, fold({ mode: 'full' })).options).toEqual({})
  })
})

describe('runs that resumed each other', () => {
  const state = foldSession([
    session(),
    run('a'),
    run('b', 'a'),
    run('c', 'b'),
    run('other'),
    ...message('m1', 'user', 'a'),
    ...message('m2', 'assistant', 'a', 10),
    ...message('m3', 'tool', 'a'),
    checkpoint('a', 1, 'm3'),
    ...message('m4', 'assistant', 'b', 4),
    ...message('m5', 'assistant', 'other', 100),
  ])

  it('form one chain, whichever of them is requested', () => {
    for (const id of ['a', 'b', 'c']) expect([...familyOf(state, id)].sort()).toEqual(['a', 'b', 'c'])
    expect([...familyOf(state, 'other')]).toEqual(['other'])
    expect([...familyOf(state, 'unknown')]).toEqual(['unknown'])
  })

  it('form one chain also when a damaged log has a cycle', () => {
    const ring = foldSession([session(), run('a', 'b'), run('b', 'a')])
    expect([...familyOf(ring, 'a')].sort()).toEqual(['a', 'b'])
  })

  it('resume from their last checkpoint, with the usage up to it and since', () => {
    const family = familyOf(state, 'c')
    const last = lastCheckpoint(state, family)
    expect(last?.messageId).toBe('m3')
    expect(totalsOf(state, family, last)).toEqual({
      usage: usage(14),
      toolCallsCount: 2,
      rounds: 2,
      toolRounds: 1,
    })
    expect(lastCheckpoint(state, new Set(['other']))).toBeUndefined()
    expect(totalsOf(state, new Set(['other']), undefined)).toMatchObject({
      usage: usage(100),
      rounds: 1,
      toolCallsCount: 0,
    })
  })

  it('count nothing twice when the message of a checkpoint is not in the log', () => {
    const lost = { ...lastCheckpoint(state, familyOf(state, 'a')), messageId: 'gone' } as never
    expect(totalsOf(state, familyOf(state, 'a'), lost)).toMatchObject({ usage: usage(10), rounds: 1 })
  })

  it('are all included in the usage of the session', () => {
    expect(restoredSpending(state).total.usage.totalTokens).toBe(114)
    expect(restoredSpending(undefined).total.models).toEqual([])
  })
})

describe('loading', () => {
  it('returns nothing for a missing session, and the same result synchronously and asynchronously', async () => {
    const store = new MemorySessionStore()
    expect(loadNow(store, 's')).toBeUndefined()
    expect(await load(store, 's')).toBeUndefined()
    const log = await store.open('s', { holder: 'test', now: () => 0 })
    await log.append([session({ title: 'x' }), ...message('m1', 'user', 'a')])
    await log.close()
    expect(loadNow(store, 's')).toMatchObject({ recordCount: 3, session: { title: 'x' } })
    expect(await load(store, 's')).toEqual(loadNow(store, 's'))
  })
})
