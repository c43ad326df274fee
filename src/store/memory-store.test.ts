import { expect, it } from 'vitest'
import { checkSessionStore } from '../testing/session-store-kit.js'
import { MemorySessionStore } from './memory-store.js'

it('satisfies the interface of a session store', async () => {
  expect(await checkSessionStore(() => new MemorySessionStore())).toEqual([])
})

it('shares its sessions with all users of an instance', async () => {
  const store = new MemorySessionStore()
  expect(await checkSessionStore(() => emptied(store), { again: (same) => same })).toEqual([])
})

async function emptied(store: MemorySessionStore): Promise<MemorySessionStore> {
  for (const { id } of await store.list()) await store.delete(id)
  return store
}
