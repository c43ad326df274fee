import { expect, it } from 'vitest'
import { InProcessMemoryStore } from './in-process-store.js'

const item = {
  content: 'x',
  createdAtMs: 1,
  importance: 0.5,
  tags: [],
  memoryType: 'semantic',
  metadata: {},
} as const

it('returns a list that later changes do not affect', async () => {
  const store = new InProcessMemoryStore()
  await store.add({ id: 'a', ...item })
  const before = await store.list()
  expect(await store.list()).toBe(before)
  await store.add({ id: 'b', ...item })
  await store.delete('a')
  expect([...before.keys()]).toEqual(['a'])
  expect([...(await store.list()).keys()]).toEqual(['b'])
})
