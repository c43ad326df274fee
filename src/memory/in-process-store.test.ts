import { expect, it } from 'vitest'
import { cpuGrowth } from '../../test/support/cpu-growth.js'
import { InProcessMemoryStore } from './in-process-store.js'

const item = {
  content: 'x',
  createdAtMs: 1,
  importance: 0.5,
  tags: [],
  memoryType: 'semantic',
  metadata: {},
} as const

it('takes ten thousand items without a copy of all of them for each', async () => {
  const growth = await cpuGrowth(10_000, async (size) => {
    const store = new InProcessMemoryStore()
    for (let at = 0; at < size; at++) await store.add({ id: `m${at}`, ...item })
  })
  expect(growth).toBeLessThan(10)
})

it('gives a list that later changes leave alone', async () => {
  const store = new InProcessMemoryStore()
  await store.add({ id: 'a', ...item })
  const before = await store.list()
  expect(await store.list()).toBe(before)
  await store.add({ id: 'b', ...item })
  await store.delete('a')
  expect([...before.keys()]).toEqual(['a'])
  expect([...(await store.list()).keys()]).toEqual(['b'])
})
