import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FileSessionStore } from '../../src/store/file/file-session-store.js'
import { MemorySessionStore } from '../../src/store/memory-store.js'
import { pruneSession } from '../../src/store/prune-session.js'
import type { SessionRecord } from '../../src/store/records.js'
import type { Durability, SessionLog, SessionStore } from '../../src/store/session-store.js'
import { SqliteSessionStore } from '../../src/store/sqlite/sqlite-store.js'
import { CapstanError } from '../../src/tool/errors.js'
import { anyCharacter } from '../support/any-character.js'
import { factor } from '../support/fault-factor.js'
import { sharedDirectory } from '../support/temporary-directory.js'

const top = sharedDirectory()
let made = 0

/** A store with the logs that are open in it. */
type World = {
  store: SessionStore
  readonly again: () => SessionStore
  readonly logs: Map<string, SessionLog>
}
type Operation = { readonly what: string; readonly run: (world: World) => unknown }

const id = fc.constantFrom('x', 'y')
const names = fc.constantFrom('a', 'b', 'c')
const record = fc.oneof(
  fc.record({ title: fc.string(), updatedAtMs: fc.nat() }).map(
    (fields): SessionRecord => ({
      type: 'session',
      data: { id: 's', schemaVersion: 1, ...fields },
    }),
  ),
  fc.tuple(names, fc.nat()).map(
    ([name, createdAtMs]): SessionRecord => ({
      type: 'message',
      data: { id: name, sessionId: 's', role: 'user', createdAtMs },
    }),
  ),
  fc.tuple(names, names, fc.string({ unit: anyCharacter })).map(
    ([name, messageId, text]): SessionRecord => ({
      type: 'part',
      data: { id: name, messageId, sessionId: 's', index: 0, content: { type: 'text', text } },
    }),
  ),
  fc.tuple(names, fc.nat(3)).map(
    ([runId, sequence]): SessionRecord => ({
      type: 'run_event',
      data: { runId, sequence, timestampMs: 1, event: { type: 'tool_end' } },
    }),
  ),
  fc.tuple(names, fc.nat(3)).map(
    ([runId, round]): SessionRecord => ({
      type: 'checkpoint',
      data: { runId, sessionId: 's', round, messageId: 'a', toolCallsCount: 0, usage: {}, atMs: 1 },
    }),
  ),
)
const opener = (durability: Durability = 'exit') => ({ holder: 'test', durability, now: () => 1 })
const withLog = ({ logs }: World, one: string, work: (log: SessionLog) => unknown): unknown => {
  const log = logs.get(one)
  return log === undefined ? 'not open' : work(log)
}

const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(id, fc.constantFrom<Durability>('exit', 'async')).map(open) },
  { weight: 8, arbitrary: fc.tuple(id, fc.array(record, { maxLength: 4 })).map(append) },
  { weight: 3, arbitrary: id.map(close) },
  { weight: 1, arbitrary: fc.tuple(id, fc.uint8Array({ maxLength: 40 })).map(blob) },
  {
    weight: 2,
    arbitrary: id.map((one) => ({ what: `read ${one}`, run: ({ store }: World) => store.read(one) })),
  },
  {
    weight: 1,
    arbitrary: id.map((one) => ({ what: `delete ${one}`, run: ({ store }: World) => store.delete(one) })),
  },
  { weight: 2, arbitrary: fc.tuple(id, fc.nat(2)).map(prune) },
  { weight: 1, arbitrary: fc.constant({ what: 'list', run: ids }) },
  { weight: 1, arbitrary: fc.constant({ what: 'another process', run: another }) },
)

function open([one, durability]: [string, Durability]): Operation {
  return {
    what: `open ${one}`,
    async run({ store, logs }) {
      const log = await store.open(one, opener(durability))
      logs.set(one, log)
      return log.damage
    },
  }
}

function append([one, records]: [string, SessionRecord[]]): Operation {
  return {
    what: `append ${JSON.stringify(records)} to ${one}`,
    run: (world) => withLog(world, one, (log) => log.append(records)),
  }
}

function close(one: string): Operation {
  return {
    what: `close ${one}`,
    run: (world) =>
      withLog(world, one, async (log) => {
        await log.close()
        // It is kept now and then, so that a closed one is tried too.
        if (one === 'x') world.logs.delete(one)
      }),
  }
}

function blob([one, bytes]: [string, Uint8Array]): Operation {
  return {
    what: `blob of ${bytes.length} to ${one}`,
    run: (world) =>
      withLog(world, one, async (log) => {
        const digest = await log.writeBlob(bytes)
        return [digest, Buffer.from((await world.store.readBlob(one, digest)) ?? []).toString('hex')]
      }),
  }
}

function prune([one, keepRuns]: [string, number]): Operation {
  return {
    what: `prune ${one}, keeping ${keepRuns}`,
    run: ({ store }) => pruneSession(store, one, { keepRuns, now: () => 1 }),
  }
}

/** When a session was last changed is the disk's to say, where no record does. */
async function ids({ store }: World): Promise<string[]> {
  return (await store.list()).map((info) => info.id).toSorted()
}

/** Closes everything, and opens the same place again. */
async function another(world: World): Promise<void> {
  for (const log of world.logs.values()) await log.close()
  world.logs.clear()
  if (!(world.store instanceof MemorySessionStore)) await world.store.close?.()
  world.store = world.again()
}

/** What came of it, in the words that all stores share. */
async function outcomeOf(work: () => unknown): Promise<unknown> {
  try {
    return (await work()) ?? 'nothing'
  } catch (error) {
    if (error instanceof CapstanError) return error.code
    throw error
  }
}

describe.each<[string, (place: string) => SessionStore]>([
  ['file', (place) => new FileSessionStore(place)],
  ['sqlite', (place) => new SqliteSessionStore(`${place}.db`)],
])('the store "%s"', (_, makeStore) => {
  it('behaves like the store in memory, for any sequence of operations', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { maxLength: 30 }), async (operations) => {
        const place = join(top, String(made++))
        const memory = new MemorySessionStore()
        const [model, tried] = [() => memory, () => makeStore(place)].map(
          (again): World => ({ store: again(), again, logs: new Map() }),
        )
        if (model === undefined || tried === undefined) throw new Error('there are two')
        for (const { what, run } of operations)
          expect(await outcomeOf(() => run(tried)), what).toEqual(await outcomeOf(() => run(model)))
        await another(tried)
        for (const one of ['x', 'y']) expect(await tried.store.read(one)).toEqual(await memory.read(one))
        await tried.store.close?.()
      }),
      { numRuns: Math.min(1000, 30 * factor) },
    )
  }, 300_000)
})
