import { expect, it } from 'vitest'
import { checkSessionStore } from '../testing/session-store-kit.js'
import { MemorySessionStore } from './memory-store.js'

it('keeps every promise of a session store', async () => {
  expect(await checkSessionStore(() => new MemorySessionStore())).toEqual([])
})

it('is one place for all who share an instance', async () => {
  const store = new MemorySessionStore()
  expect(await checkSessionStore(() => emptied(store), { again: (same) => same })).toEqual([])
})

async function emptied(store: MemorySessionStore): Promise<MemorySessionStore> {
  for (const { id } of await store.list()) await store.delete(id)
  return store
}
