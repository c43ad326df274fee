import { expect, it } from 'vitest'
import { InProcessMemoryStore } from './in-process-store.js'

it('takes each item in the same time, however many there are', async () => {
  const cost = async (count: number): Promise<number> => {
    const store = new InProcessMemoryStore()
    const before = process.cpuUsage()
    for (let at = 0; at < count; at++)
      await store.add({
        id: `m${at}`,
        content: 'x',
        createdAtMs: at,
        importance: 0.5,
        tags: [],
        memoryType: 'semantic',
        metadata: {},
      })
    return process.cpuUsage(before).user
  }
  await cost(1_000)
  // Sixteen times as many: a copy for each would take 256 times as long.
  expect((await cost(8_000)) / (await cost(500))).toBeLessThan(64)
})

it('gives a list that later changes leave alone', async () => {
  const store = new InProcessMemoryStore()
  const item = {
    content: 'x',
    createdAtMs: 1,
    importance: 0.5,
    tags: [],
    memoryType: 'semantic',
    metadata: {},
  } as const
  await store.add({ id: 'a', ...item })
  const before = await store.list()
  expect(await store.list()).toBe(before)
  await store.add({ id: 'b', ...item })
  await store.delete('a')
  expect([...before.keys()]).toEqual(['a'])
  expect([...(await store.list()).keys()]).toEqual(['b'])
})
