import { isDeepStrictEqual } from 'node:util'
import { MemoryError, type MemoryItem, type MemoryStore } from '../memory/index.js'
import { rejectsWith, runChecks, shortened } from './run-checks.js'

export type MemoryStoreKitOptions = {
  /** Returns another store on the same data, as another process would open it. Absent: these checks are skipped. */
  readonly again?: (store: MemoryStore) => MemoryStore | Promise<MemoryStore>
}

/**
 * Checks a memory store against its interface and returns a list of problems, empty when there are none.
 *
 * @example
 * ```ts
 * expect(await checkMemoryStore(() => new MyStore())).toEqual([])
 * ```
 */
export async function checkMemoryStore(
  makeStore: () => MemoryStore | Promise<MemoryStore>,
  options: MemoryStoreKitOptions = {},
): Promise<string[]> {
  return runChecks(checks, async (check) => check(await makeStore(), options))
}

type Check = (store: MemoryStore, options: MemoryStoreKitOptions) => Promise<void>

const checks: Readonly<Record<string, Check>> = {
  async 'an item is returned as it was added'(store) {
    same(await itemsOf(store), [])
    const items = [
      item('a'),
      item('b', { tags: ['grep', 'Größe'], metadata: { deep: [1, null, { x: 'y' }] } }),
    ]
    for (const one of items) await store.add(one)
    same(await itemsOf(store), items)
  },

  async 'any text can be remembered'(store) {
    const contents = [
      '---\ntype: x\n---\n',
      '\n\n# Title\n\n',
      '日本語 😀',
      '"\\\u2028',
      '<b>&amp;',
      'x'.repeat(16_000),
    ]
    const items = contents.map((content, at) => item(`text-${at}`, { content, createdAtMs: at }))
    for (const one of items) await store.add(one)
    same(await itemsOf(store), items)
  },

  async 'an id that exists is rejected, and the existing item stays'(store) {
    await store.add(item('a', { content: 'first' }))
    await rejects(store.add(item('a', { content: 'second' })), 'memory_exists')
    same(await itemsOf(store), [item('a', { content: 'first' })])
  },

  async 'of many concurrent adds with one id, exactly one succeeds'(store) {
    const tries = Array.from({ length: 8 }, (_, at) => store.add(item('a', { content: `number ${at}` })))
    const outcomes = await Promise.allSettled(tries)
    same(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
    same((await itemsOf(store)).length, 1)
  },

  async 'items that were added without waiting are all stored'(store) {
    const items = Array.from({ length: 50 }, (_, at) => item(`many-${String(at).padStart(2, '0')}`))
    await Promise.all(items.map((one) => store.add(one)))
    same(await itemsOf(store), items)
  },

  async 'a deleted item is gone, and deleting it again is not an error'(store) {
    await store.add(item('a'))
    await store.add(item('b'))
    same(await store.delete('a'), true)
    same(await store.delete('a'), false)
    same(await itemsOf(store), [item('b')])
    await store.add(item('a', { content: 'second' }))
    same((await store.list()).get('a')?.content, 'second')
  },

  async 'an unchanged item is the same object'(store) {
    await store.add(item('a'))
    const before = await store.list()
    if ((await store.list()) !== before)
      throw new Error('the map is a different object, though nothing changed')
    await store.add(item('b'))
    if ((await store.list()).get('a') !== before.get('a')) throw new Error('an item is a different object')
    same([...before.keys()], ['a'])
  },

  async 'changes of an object after the call are not stored'(store) {
    const tags = ['one']
    const adding = store.add(item('a', { tags }))
    tags.push('two')
    await adding
    same((await store.list()).get('a')?.tags, ['one'])
  },

  async 'no id refers to a place outside the store'(store) {
    for (const id of [
      '',
      '.',
      '..',
      '../a',
      '/etc/a',
      'a/b',
      'a\\b',
      'a\u0000',
      '.hidden',
      'C:x',
      'a\nb',
      'x'.repeat(300),
    ]) {
      await rejects(store.add(item(id)), 'memory_invalid')
      same(await store.delete(id), false)
    }
    same(await itemsOf(store), [])
  },

  async 'an item that is too large or invalid is rejected'(store) {
    await rejects(store.add(item('a', { content: 'ü'.repeat(9000) })), 'memory_too_large')
    await rejects(store.add(item('a', { metadata: { long: 'x'.repeat(5000) } })), 'memory_too_large')
    await rejects(store.add(item('a', { content: ' \n' })), 'memory_invalid')
    await rejects(store.add(item('a', { importance: 1.5 })), 'memory_invalid')
    await rejects(store.add(item('a', { createdAtMs: Number.NaN })), 'memory_invalid')
    await rejects(store.add(item('a', { tags: ['a\nb'] })), 'memory_invalid')
    same(await itemsOf(store), [])
  },

  async 'another store on the same data sees the same, and neither loses what the other adds'(
    store,
    { again },
  ) {
    if (again === undefined) return
    const other = await again(store)
    await Promise.all([store.add(item('a')), other.add(item('b'))])
    same(await itemsOf(store), [item('a'), item('b')])
    same(await itemsOf(other), [item('a'), item('b')])
    await rejects(other.add(item('a', { content: 'mine' })), 'memory_exists')
    same(await other.delete('a'), true)
    same(await itemsOf(store), [item('b')])
  },
}

const rejects = rejectsWith(MemoryError)

function item(id: string, fields: Partial<MemoryItem> = {}): MemoryItem {
  return {
    id,
    content: `what ${id} says`,
    createdAtMs: 1_700_000_000_000,
    importance: 0.5,
    tags: [],
    memoryType: 'semantic',
    metadata: {},
    ...fields,
  }
}

async function itemsOf(store: MemoryStore): Promise<MemoryItem[]> {
  return [...(await store.list()).values()].toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

function same(actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected))
    throw new Error(`${shown(actual)} where ${shown(expected)} was expected`)
}

function shown(value: unknown): string {
  return shortened(JSON.stringify(value) ?? 'undefined')
}
