import { createHash } from 'node:crypto'
import { SessionLockedError, StoreError } from '../store/errors.js'
import { type SessionRecord, schemaVersion } from '../store/records.js'
import type { OpenLogOptions, SessionStore } from '../store/session-store.js'
import { messageOf } from '../tool/errors.js'
import { rejectsWith, runChecks, shortened } from './run-checks.js'

export type SessionStoreKitOptions = {
  /** Returns another store on the same data, as another process would open it. Absent: these checks are skipped. */
  readonly again?: (store: SessionStore) => SessionStore | Promise<SessionStore>
  /** Takes the lease of the session from its holder, as after a long silence. Absent: these checks are skipped. */
  readonly loseLease?: (store: SessionStore, sessionId: string) => void | Promise<void>
}

/**
 * Checks a session store against its interface and returns a list of problems, empty when there are none.
 *
 * @example
 * ```ts
 * expect(await checkSessionStore(() => new MyStore())).toEqual([])
 * ```
 */
export async function checkSessionStore(
  makeStore: () => SessionStore | Promise<SessionStore>,
  options: SessionStoreKitOptions = {},
): Promise<string[]> {
  return runChecks(checks, async (check) => {
    const store = await makeStore()
    await check(store, options).finally(() => store.close?.())
  })
}

type Check = (store: SessionStore, options: SessionStoreKitOptions) => Promise<void>

const checks: Readonly<Record<string, Check>> = {
  async 'records are returned in the order in which they were appended'(store) {
    const batches = [
      [session('s', { createdAtMs: 1, title: 'first' })],
      [message('m1'), part('m1', 'one'), part('m1', 'two', 1)],
      [run('running'), runEvent(0), runEvent(1), checkpoint(1)],
    ]
    await write(store, 's', ...batches)
    same(await recordsOf(store, 's'), batches.flat())
  },

  async 'a row with a known id is a separate record, at its own position'(store) {
    const parts = [part('m1', 'a'), part('m1', 'b')]
    const rows = [run('queued'), message('m1'), run('running'), ...parts, run('completed')]
    await write(store, 's', ...rows.map((row) => [row]))
    same(await recordsOf(store, 's'), rows)
  },

  async 'unknown fields are stored unchanged'(store) {
    const unknown = { type: 'run_event', data: { ...eventData(0), later: { deep: [null, 1.5, 'x'] } } }
    await write(store, 's', [unknown as SessionRecord])
    same(await recordsOf(store, 's'), [unknown])
  },

  async 'records whose JSON text the caller passes are stored the same'(store) {
    const rows = [
      session('s', { title: 'a "quoted"\n title' }),
      message('m1'),
      part('m1', 'ü\u2028 text'),
      run('queued'),
    ]
    const last = message('m2')
    const json = new Map([...rows, last].map(({ data }) => [data, JSON.stringify(data)]))
    const log = await store.open('s', opener())
    await log.append(rows, { json })
    // A log that passes its records on can leave some out, or replace them.
    await log.append([last, part('m2', 'replaced')], { soon: true, json })
    await log.close()
    same(await recordsOf(store, 's'), [...rows, last, part('m2', 'replaced')])
    same((await store.list())[0]?.title, 'a "quoted"\n title')
  },

  async 'a created session exists, has no holder, and is created only once'(store, { again }) {
    if (store.create === undefined) return
    const options = { holder: 'the kit', now: () => 0 }
    const row = session('s', { createdAtMs: 1, title: 'first', workspaceRoot: '/w' })
    same(await store.create('s', [row], options), true)
    same(await store.create('s', [session('s', { title: 'second' })], options), false)
    same(await recordsOf(store, 's'), [row])
    same((await store.list())[0]?.title, 'first')
    const log = await (again === undefined ? store : await again(store)).open('s', opener())
    await log.append([message('m1')])
    same(await store.create('s', [row], options), false)
    await log.close()
    same(await recordsOf(store, 's'), [row, message('m1')])
    same(await store.delete('s'), true)
    same(await store.create('s', [row], options), true)
    same(await recordsOf(store, 's'), [row])
  },

  async 'a session that does not exist is undefined'(store) {
    same(await store.read('none'), undefined)
    if (store.readSync !== undefined) same(store.readSync('none'), undefined)
    if (store.countRecords !== undefined) same(await store.countRecords('none'), 0)
    same(await store.readBlob('none', '0'.repeat(64)), undefined)
    same(await store.list(), [])
    same(await store.delete('none'), false)
  },

  async 'reading synchronously returns the same as reading'(store) {
    const log = await store.open('s', opener())
    const bytes = await log.writeBlob(new Uint8Array([1, 2, 3]))
    await log.append([session('s'), message('m1'), part('m1', 'text')])
    if (store.readSync !== undefined) same(store.readSync('s'), await store.read('s'))
    if (store.readBlobSync !== undefined)
      same([...(store.readBlobSync('s', bytes) ?? [])], [...((await store.readBlob('s', bytes)) ?? [])])
    await log.close()
  },

  async 'counting records returns as many as reading does, also after another writer'(store) {
    if (store.countRecords === undefined) return
    for (const more of [[session('s'), message('m1')], [message('m2')], [part('m2', 'text')]]) {
      const log = await store.open('s', opener())
      await log.append(more)
      same(await store.countRecords('s'), (await store.read('s'))?.records.length)
      await log.close()
      same(await store.countRecords('s'), (await store.read('s'))?.records.length)
    }
    same(await store.delete('s'), true)
    same(await store.countRecords('s'), 0)
  },

  async 'the list has every session, the newest first, with the data of its rows'(store) {
    const times: Readonly<Record<string, number>> = { old: 10, newest: 30, middle: 20 }
    for (const [id, updatedAtMs] of Object.entries(times)) {
      const row = session(id, { createdAtMs: 1, title: `title of ${id}`, workspaceRoot: '/w' })
      await write(store, id, [row], [session(id, { updatedAtMs })])
    }
    same(await listedIds(store), ['newest', 'middle', 'old'])
    same((await store.list())[0], {
      id: 'newest',
      createdAtMs: 1,
      updatedAtMs: 30,
      title: 'title of newest',
      workspaceRoot: '/w',
    })
  },

  async 'a deleted session is completely gone, and its id can be used again'(store) {
    const log = await store.open('s', opener())
    const digest = await log.writeBlob(text('a blob'))
    await log.append([session('s')])
    await rejects(store.delete('s'), 'session_locked')
    same((await recordsOf(store, 's')).length, 1)
    await log.close()
    same(await store.delete('s'), true)
    same(await store.read('s'), undefined)
    same(await store.readBlob('s', digest), undefined)
    same(await store.list(), [])
    same(await store.delete('s'), false)
    await write(store, 's', [session('s', { title: 'second' })])
    same(await recordsOf(store, 's'), [session('s', { title: 'second' })])
  },

  async 'content is stored once under its SHA-256, for its session alone'(store) {
    const log = await store.open('s', opener())
    for (const content of [text('some content'), new Uint8Array(), new Uint8Array(300_000).fill(7)]) {
      const digest = await log.writeBlob(content)
      same(digest, createHash('sha256').update(content).digest('hex'))
      same(await log.writeBlob(content), digest)
      const read = await store.readBlob('s', digest)
      if (read === undefined || Buffer.compare(read, content) !== 0) throw new Error('other bytes came back')
    }
    const digest = await log.writeBlob(text('some content'))
    await log.close()
    same(await store.readBlob('other', digest), undefined)
    for (const unknown of ['../log', '', 'x', '0'.repeat(64)])
      same(await store.readBlob('s', unknown), undefined)
  },

  async 'one holder writes at a time, the next has a higher fence, and the error names the holder'(store) {
    const first = await store.open('s', opener('the first'))
    const refusal = await rejects(store.open('s', opener('the second')), 'session_locked')
    if (!(refusal instanceof SessionLockedError)) throw new Error('the error is not a SessionLockedError')
    same(refusal.lease, first.lease)
    same([first.lease.holder, first.lease.pid, first.lease.acquiredAtMs], ['the first', process.pid, 1000])
    const other = await store.open('another', opener('the second'))
    await other.close()
    await first.close()
    const second = await store.open('s', opener('the second'))
    same(second.lease.fence > first.lease.fence, true)
    await rejects(first.append([session('s')]), 'store_closed')
    await second.append([session('s')])
    await second.close()
  },

  async 'of many concurrent opens exactly one succeeds'(store) {
    for (let round = 0; round < 20; round++) {
      const outcomes = await Promise.allSettled(Array.from({ length: 5 }, () => store.open('s', opener())))
      const won = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
      await Promise.all(won.map((log) => log.close()))
      same(won.length, 1)
    }
  },

  async 'a holder that has lost the lease cannot write'(store, { loseLease }) {
    if (loseLease === undefined) return
    const log = await store.open('s', opener('the sleeper'))
    await log.append([session('s')])
    await loseLease(store, 's')
    await rejects(log.append([message('late')]), 'store_lost_lease')
    await log.close()
    const next = await store.open('s', opener('the next'))
    same(next.lease.fence > log.lease.fence, true)
    await next.append([message('m1')])
    await rejects(log.append([message('later')]), 'store_closed')
    await next.close()
    same(await recordsOf(store, 's'), [session('s'), message('m1')])
  },

  async 'every id names a separate session'(store) {
    for (const id of oddIds) {
      await write(store, id, [session(id)])
    }
    for (const id of oddIds) same(await recordsOf(store, id), [session(id)])
    same((await listedIds(store)).toSorted(), oddIds.toSorted())
    for (const id of oddIds) same(await store.delete(id), true)
    same(await store.list(), [])
    await rejects(store.open('', opener()), 'store_bad_id')
  },

  async 'any text is returned unchanged, whatever its length'(store) {
    const rows = [
      ...['', '\u0000', '\n\r\u2028\u2029', '"\\', '\ud800', 'e\u0301 \u00e9', '😀'.repeat(1000), '{"crc":"'],
      'x'.repeat(1_000_000),
      'ü\n'.repeat(500_000),
    ].map((content, index) => part('m1', content, index))
    await write(store, 's', rows)
    same(await recordsOf(store, 's'), rows)
  },

  async 'appends without waiting stay in order, and batches stay together'(store) {
    const log = await store.open('s', opener())
    const batches = Array.from({ length: 100 }, (_, at) => [
      message(`m${at}`),
      ...Array.from({ length: at % 4 }, (_, index) => part(`m${at}`, `${at}`, index)),
    ])
    const pending = batches.map((batch) => log.append(batch))
    await log.flush()
    await Promise.all(pending)
    same(await recordsOf(store, 's'), batches.flat())
    await log.close()
  },

  async 'a batch that cannot be written as JSON leaves nothing behind'(store) {
    const log = await store.open('s', opener())
    const circular: Record<string, unknown> = {}
    circular['self'] = circular
    const bad = { type: 'run_event', data: { ...eventData(1), event: circular } } as unknown as SessionRecord
    await log.append([message('m1')])
    await log.append([]).catch(() => Promise.reject(new Error('an empty batch is rejected')))
    await log.append([message('m2'), bad]).then(
      () => Promise.reject(new Error('it accepted a value that is not JSON')),
      () => undefined,
    )
    await log.append([message('m3')])
    await log.close()
    same(await recordsOf(store, 's'), [message('m1'), message('m3')])
  },

  async 'changes of an object after the call are not stored'(store) {
    const log = await store.open('s', opener())
    const labels: Record<string, string> = { a: '1' }
    const content = text('before')
    const appended = log.append([session('s', { labels })])
    const written = log.writeBlob(content)
    labels['a'] = '2'
    content.fill(0)
    await appended
    const digest = await written
    same(await recordsOf(store, 's'), [session('s', { labels: { a: '1' } })])
    same(digest, createHash('sha256').update('before').digest('hex'))
    await log.close()
  },

  async 'every durability stores what was appended'(store, { again }) {
    for (const durability of ['sync', 'async', 'exit'] as const) {
      const log = await store.open(durability, { ...opener(), durability })
      await log.append([session(durability)])
      const digest = await log.writeBlob(text(durability))
      same(await recordsOf(store, durability), [session(durability)])
      await log.flush()
      await log.append([message('m1')])
      await log.close()
      const other = await again?.(store)
      same(await recordsOf(other ?? store, durability), [session(durability), message('m1')])
      same((await (other ?? store).readBlob(durability, digest)) !== undefined, true)
      await other?.close?.()
    }
  },

  async 'a closed log accepts no more, and closing twice is not an error'(store) {
    const log = await store.open('s', opener())
    const pending = log.append([session('s')])
    await Promise.all([log.close(), log.close()])
    await pending
    await log.close()
    await rejects(log.append([message('m1')]), 'store_closed')
    await rejects(log.writeBlob(text('x')), 'store_closed')
    await rejects(log.flush(), 'store_closed')
    same(await recordsOf(store, 's'), [session('s')])
  },

  async 'another store on the same data sees the same, and respects the lease'(store, { again }) {
    if (again === undefined) return
    const log = await store.open('s', opener('here'))
    await log.append([session('s'), message('m1')])
    const other = await again(store)
    same(await recordsOf(other, 's'), [session('s'), message('m1')])
    await rejects(other.open('s', opener('there')), 'session_locked')
    await rejects(other.delete('s'), 'session_locked')
    await log.close()
    const next = await other.open('s', opener('there'))
    await next.append([message('m2')])
    await next.close()
    same(await recordsOf(store, 's'), [session('s'), message('m1'), message('m2')])
    await other.close?.()
  },

  async 'an opened log reports its number of records, or nothing'(store) {
    await write(store, 's', [session('s'), message('m1')], [message('m1'), session('s')])
    await recordsOf(store, 's')
    const log = await store.open('s', opener())
    if (log.recordCount !== undefined) same(log.recordCount, 4)
    await log.close()
  },

  async 'records are rewritten as a whole, under the same conditions as opening'(store) {
    if (store.rewrite === undefined) return
    const log = await store.open('s', opener('the holder'))
    const digest = await log.writeBlob(text('a blob'))
    await log.append([session('s', { title: 'first' }), message('m1'), part('m1', 'one')])
    await log.append([run('running'), runEvent(1), runEvent(2), run('completed'), checkpoint(1)])
    await rejects(
      store.rewrite('s', () => [], opener('another')),
      'session_locked',
    )
    await log.close()
    const before = await recordsOf(store, 's')
    await store.rewrite('s', (records) => records, opener())
    same(await recordsOf(store, 's'), before)
    const failing = store.rewrite(
      's',
      () => {
        throw new StoreError('store_failed', 'the edit failed')
      },
      opener(),
    )
    await rejects(failing, 'store_failed')
    same(await recordsOf(store, 's'), before)
    const remaining = before.filter(({ type }) => type !== 'run_event')
    await store.rewrite('s', () => remaining, opener())
    same(await recordsOf(store, 's'), remaining)
    same(
      (await store.list()).map(({ id, title }) => [id, title]),
      [['s', 'first']],
    )
    if ((await store.readBlob('s', digest)) === undefined) throw new Error('large content is gone')
    const next = await store.open('s', opener())
    if (next.lease.fence <= log.lease.fence) throw new Error('a fence is used twice')
    await next.append([message('m2'), runEvent(3)])
    await next.close()
    same(await recordsOf(store, 's'), [...remaining, message('m2'), runEvent(3)])
    await store.rewrite('nowhere', () => [session('nowhere')], opener())
    if ((await store.read('nowhere')) !== undefined)
      throw new Error('a session that does not exist is returned')
  },

  async 'a future schema is rejected by its number'(store) {
    await write(store, 's', [session('s', { schemaVersion: schemaVersion + 1 })])
    const refusal = await rejects(store.read('s'), 'store_future_schema')
    if (!messageOf(refusal).includes(String(schemaVersion + 1))) throw new Error('the schema is not named')
    if (store.readSync !== undefined) {
      const atOnce = async (): Promise<unknown> => store.readSync?.('s')
      await rejects(atOnce(), 'store_future_schema')
    }
    await rejects(store.open('s', opener()), 'store_future_schema')
    same(await listedIds(store), ['s'])
    same(await store.delete('s'), true)
  },
}

const oddIds: readonly string[] = [
  ...['.', '..', '...', '.hidden', 'ends.', '../up', '/etc/passwd', 'a/b', 'a\\b', 'C:\\x', 'a b', ' ', '\n'],
  ...[
    'a\u0000b',
    'case',
    'CASE',
    'Case',
    '%2e',
    '%',
    'con',
    'NUL',
    'com1.txt',
    '~',
    '*?<>|":',
    '-rf',
    '$(id)',
  ],
  ...['é', 'e\u0301', '日本語', '😀', '\u202eabc', "it's; drop table x --", '__proto__', 'constructor', '0'],
  'long'.repeat(100),
  `${'long'.repeat(100)}!`,
  'LONG'.repeat(100),
  'ü'.repeat(255),
]

const rejects = rejectsWith(StoreError, SessionLockedError)

function opener(holder = 'the kit'): OpenLogOptions {
  return { holder, now: () => 1000 }
}

/** Opens a session, appends records and closes it. */
async function write(store: SessionStore, id: string, ...batches: readonly SessionRecord[][]): Promise<void> {
  const log = await store.open(id, opener())
  for (const batch of batches) await log.append(batch)
  await log.close()
}

function session(id: string, fields: Record<string, unknown> = {}): SessionRecord {
  return { type: 'session', data: { id, schemaVersion, updatedAtMs: 1, ...fields } }
}

function message(id: string): SessionRecord {
  return { type: 'message', data: { id, sessionId: 's', role: 'user', createdAtMs: 1 } }
}

function part(messageId: string, content: string, index = 0): SessionRecord {
  const data = { id: `${messageId}-${index}`, messageId, sessionId: 's', index }
  return { type: 'part', data: { ...data, content: { type: 'text', text: content } } }
}

function run(status: 'queued' | 'running' | 'completed'): SessionRecord {
  return {
    type: 'run',
    data: { id: 'r1', sessionId: 's', status, prompt: 'do it', createdAtMs: 1, updatedAtMs: 2 },
  }
}

function eventData(sequence: number) {
  return { runId: 'r1', sequence, timestampMs: 1, event: { type: 'tool_end', toolName: 'read' } }
}

function runEvent(sequence: number): SessionRecord {
  return { type: 'run_event', data: eventData(sequence) }
}

function checkpoint(round: number): SessionRecord {
  const data = { runId: 'r1', sessionId: 's', round, messageId: 'm1', toolCallsCount: 1, atMs: 3 }
  return { type: 'checkpoint', data: { ...data, usage: { inputTokens: 1 } } }
}

function text(content: string): Uint8Array {
  return new TextEncoder().encode(content)
}

async function listedIds(store: SessionStore): Promise<string[]> {
  return (await store.list()).map(({ id }) => id)
}

async function recordsOf(store: SessionStore, id: string): Promise<readonly SessionRecord[]> {
  const stored = await store.read(id)
  if (stored === undefined) throw new Error(`session ${JSON.stringify(id)} does not exist`)
  if (stored.damage !== undefined) throw new Error(`damage is reported: ${stored.damage}`)
  return stored.records
}

/** Compares as JSON with sorted keys, because stores need not preserve the order of fields. */
function same(actual: unknown, expected: unknown): void {
  const [a, b] = [ordered(actual), ordered(expected)]
  if (a !== b) throw new Error(`${shortened(a)} where ${shortened(b)} was expected`)
}

function ordered(value: unknown): string {
  return (
    JSON.stringify(value, (_key, inner: unknown) =>
      typeof inner === 'object' && inner !== null && !Array.isArray(inner)
        ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
        : inner,
    ) ?? 'undefined'
  )
}
