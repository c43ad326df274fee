import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyCharacter } from '../../test/support/any-character.js'
import { propertyRuns } from '../../test/support/property-runs.js'
import type { Message } from '../tool/completion.js'
import { blobDigests, foldSession } from './fold-session.js'
import { MemorySessionStore } from './memory-store.js'
import { messageRecords } from './message-records.js'
import { type SessionRecord, type SessionRow, schemaVersion, type ToolIntent } from './records.js'

/** The maximum size of a piece in the log itself. */
const maxInlineBytes = 64 * 1024

async function rows(messages: readonly Message[], writeBlob?: (bytes: Uint8Array) => Promise<string>) {
  const records: SessionRecord[] = []
  for (const [at, message] of messages.entries()) {
    const id = `m${at}`
    records.push(
      ...(await messageRecords(message, {
        row: { id, sessionId: 's', createdAtMs: at },
        partId: (index) => `${id}-${index}`,
        ...(writeBlob !== undefined && { writeBlob }),
      })),
    )
  }
  return records
}

const user = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] })
const assistant = (text: string): Message => ({ role: 'assistant', content: [{ type: 'text', text }] })
const session = (fields: Partial<SessionRow>): SessionRecord => ({
  type: 'session',
  data: { id: 's', schemaVersion, updatedAtMs: 1, ...fields },
})
const compaction = async (id: string, summary: string, fields: object): Promise<SessionRecord[]> =>
  messageRecords(summary === '' ? { role: 'user', content: [] } : user(summary), {
    row: { id, sessionId: 's', createdAtMs: 9, role: 'compaction', ...fields },
    partId: (index) => `${id}-${index}`,
  })
const texts = (of: readonly { message: Message }[]): string[] =>
  of.map(({ message }) =>
    message.role === 'system'
      ? message.content
      : message.content.map((piece) => ('text' in piece ? piece.text : piece.type)).join('+'),
  )

const text = fc.record({ type: fc.constant('text' as const), text: fc.string({ unit: anyCharacter }) })
const image = fc.record(
  { type: fc.constant('image' as const), data: fc.base64String() },
  { requiredKeys: ['type', 'data'] },
)
const call = fc.record(
  {
    type: fc.constant('tool_call' as const),
    id: fc.string(),
    callId: fc.string(),
    function: fc.record({ name: fc.string(), arguments: fc.jsonValue({ maxDepth: 2 }) }),
    signature: fc.string(),
  },
  { requiredKeys: ['type', 'id', 'function'] },
)
const result = fc.record(
  {
    type: fc.constant('tool_result' as const),
    id: fc.string(),
    toolName: fc.string(),
    content: fc.array(fc.oneof(text, image), { maxLength: 3 }),
    isError: fc.boolean(),
  },
  { requiredKeys: ['type', 'id', 'content'] },
)
const anyMessage = fc.oneof(
  fc.record({ role: fc.constant('system'), content: fc.string() }),
  fc.record({ role: fc.constant('user'), content: fc.array(fc.oneof(text, image), { maxLength: 4 }) }),
  fc.record(
    {
      role: fc.constant('assistant'),
      id: fc.string(),
      content: fc.array(fc.oneof(text, call), { maxLength: 4 }),
    },
    { requiredKeys: ['role', 'content'] },
  ),
  fc.record({ role: fc.constant('tool'), content: fc.array(result, { maxLength: 4 }) }),
) as fc.Arbitrary<Message>

it('redacts a large piece before it is stored next to the log', async () => {
  const stored: string[] = []
  const clean = <Value>(value: Value): Value =>
    JSON.parse(JSON.stringify(value).replaceAll('hunter2', '[REDACTED]'))
  const records = await messageRecords(user('hunter2 '.repeat(maxInlineBytes)), {
    row: { id: 'm', sessionId: 's', createdAtMs: 1 },
    partId: String,
    clean,
    writeBlob: async (bytes) => {
      stored.push(new TextDecoder().decode(bytes))
      return 'digest'
    },
  })
  expect(stored[0]).toContain('[REDACTED]')
  expect(`${stored} ${JSON.stringify(records)}`).not.toContain('hunter2')
})

describe('messages, their records and the fold', () => {
  it('return the same messages, whatever they contain', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyMessage), async (messages) => {
        const plain = JSON.parse(JSON.stringify(messages)) as Message[]
        const records = JSON.parse(JSON.stringify(await rows(messages))) as SessionRecord[]
        const { messages: folded, view } = foldSession(records)
        expect(folded.map(({ message }) => message)).toEqual(plain)
        expect(view.map(({ message }) => message)).toEqual(plain)
        expect(folded.map(({ id }) => id)).toEqual(messages.map((_, at) => `m${at}`))
      }),
      { numRuns: propertyRuns(200) },
    )
  })

  it('store large pieces once outside the log, and show a stub where they are lost', async () => {
    const store = new MemorySessionStore()
    const log = await store.open('s', { holder: 'test', now: () => 1 })
    const large = 'ü'.repeat(maxInlineBytes)
    const messages: Message[] = [
      user(large),
      {
        role: 'tool',
        content: [
          { type: 'tool_result', id: 'c1', toolName: 'read', content: [{ type: 'text', text: large }] },
        ],
      },
      user(large),
      user('x'.repeat(maxInlineBytes - 100)),
    ]
    const records = await rows(messages, (bytes) => log.writeBlob(bytes))
    const digests = blobDigests(records)
    expect(digests).toHaveLength(2)
    expect(JSON.stringify(records).length).toBeLessThan(maxInlineBytes + 10_000)
    const { messages: folded } = foldSession(records, {
      readBlob: (digest) => store.readBlobSync('s', digest),
    })
    expect(folded.map(({ message }) => message)).toEqual(messages)
    const lost = foldSession(records)
    expect(lost.missingBlobs).toEqual(digests)
    expect(texts(lost.messages)[0]).toMatch(/^ü{500}… \[\d+ more characters]$/)
    expect(lost.messages[1]?.message.content[0]).toMatchObject({
      type: 'tool_result',
      id: 'c1',
      toolName: 'read',
    })
  })
})

describe('foldSession', () => {
  it('merges the rows of the session, and uses the latest of everything else', () => {
    const run = { id: 'r', sessionId: 's', prompt: 'p', createdAtMs: 1, updatedAtMs: 2 }
    const point = { runId: 'r', sessionId: 's', messageId: 'm', toolCallsCount: 1, usage: {}, atMs: 1 }
    const event = (sequence: number) => ({ runId: 'r', sequence, timestampMs: 1, event: 'x' })
    const part = (text: string, index: number, id = `p${index}`): SessionRecord => ({
      type: 'part',
      data: { id, messageId: 'm', sessionId: 's', index, content: { type: 'text', text } },
    })
    const state = foldSession([
      session({ title: 'one', labels: { a: '1' }, createdAtMs: 1 }),
      part('third', 2),
      { type: 'message', data: { id: 'm', sessionId: 's', role: 'user', createdAtMs: 1 } },
      part('first', 0),
      part('early', 1),
      part('second', 1),
      { type: 'run', data: { ...run, status: 'running' } },
      { type: 'run_event', data: event(0) },
      { type: 'checkpoint', data: { ...point, round: 1 } },
      { type: 'run_event', data: event(1) },
      { type: 'checkpoint', data: { ...point, round: 2 } },
      { type: 'run', data: { ...run, status: 'completed' } },
      { type: 'later', data: { anything: true } } as unknown as SessionRecord,
      session({ title: 'two', updatedAtMs: 5 }),
    ])
    expect(state.session).toEqual({
      id: 's',
      schemaVersion,
      title: 'two',
      labels: { a: '1' },
      createdAtMs: 1,
      updatedAtMs: 5,
    })
    expect(texts(state.messages)).toEqual(['first+second+third'])
    expect(state.runs.get('r')?.status).toBe('completed')
    expect(state.events.get('r')).toEqual([event(0), event(1)])
    expect(state.checkpoints.get('r')?.round).toBe(2)
    expect(state.unknownRecords).toBe(1)
  })

  it('hides what a rewind removed, not what came after it, and shows it again', async () => {
    const said = await rows([user('a'), assistant('b'), user('c'), assistant('d')])
    const after = await messageRecords(user('e'), {
      row: { id: 'n', sessionId: 's', createdAtMs: 5 },
      partId: () => 'n-0',
    })
    const rewound = [...said, session({ hiddenFrom: 'm2' })]
    expect(texts(foldSession(rewound).view)).toEqual(['a', 'b'])
    expect(foldSession(rewound).messages.map(({ hidden }) => hidden)).toEqual([false, false, true, true])
    expect(
      texts(foldSession([...rewound, ...after, session({ hiddenFrom: 'm2', title: 't' })]).view),
    ).toEqual(['a', 'b', 'e'])
    expect(texts(foldSession([...rewound, session({ hiddenFrom: null })]).view)).toEqual(['a', 'b', 'c', 'd'])
    expect(texts(foldSession([...said, session({ hiddenFrom: 'unknown' })]).view)).toEqual([
      'a',
      'b',
      'c',
      'd',
    ])
  })

  it('shows a model the summary, the retained tail and what came later', async () => {
    const said = await rows([user('a'), assistant('b'), user('c'), assistant('d')])
    const later = await messageRecords(user('e'), {
      row: { id: 'n', sessionId: 's', createdAtMs: 5 },
      partId: () => 'n-0',
    })
    const first = await compaction('k1', 'sum 1', { tailStart: 'm2', pruned: ['m3'] })
    const one = foldSession([...said, ...first, ...later])
    expect(texts(one.view)).toEqual(['sum 1', 'c', 'd', 'e'])
    expect(one.view.map(({ pruned }) => pruned)).toEqual([false, false, true, false])
    expect(texts(one.messages)).toEqual(['a', 'b', 'c', 'd', 'e'])
    expect(texts(one.compactions)).toEqual(['sum 1'])
    const onlyPruned = await compaction('k2', '', { tailStart: 'k1', pruned: ['n'] })
    const two = foldSession([...said, ...first, ...later, ...onlyPruned])
    expect(texts(two.view)).toEqual(['sum 1', 'c', 'd', 'e'])
    expect(two.view.map(({ pruned }) => pruned)).toEqual([false, false, true, true])
    const nothingKept = await compaction('k3', 'sum 3', { tailStart: null })
    expect(texts(foldSession([...said, ...first, ...later, ...nothingKept]).view)).toEqual(['sum 3'])
    // A rewind to before a compaction removes that too.
    expect(texts(foldSession([...said, ...first, ...later, session({ hiddenFrom: 'm3' })]).view)).toEqual([
      'a',
      'b',
      'c',
    ])
  })

  it('lists the calls that started and have no result', () => {
    const intent = (callId: string): ToolIntent => ({
      type: 'tool_intent',
      callId,
      toolName: 'bash',
      args: '{}',
      idempotent: false,
      startedAtMs: 1,
    })
    const part = (
      id: string,
      content: ToolIntent | { type: 'tool_result'; id: string; content: [] },
    ): SessionRecord => ({
      type: 'part',
      data: { id, messageId: 'm', sessionId: 's', index: 0, content },
    })
    const state = foldSession([
      part('i1', intent('c1')),
      part('i2', intent('c2')),
      part('r1', { type: 'tool_result', id: 'c1', content: [] }),
      part('i3', intent('c3')),
      part('r3', { type: 'tool_result', id: 'c3', content: [] }),
      part('i4', intent('c1')),
    ])
    expect(state.openIntents.map(({ intent: { callId } }) => callId)).toEqual(['c2', 'c1'])
  })
})
