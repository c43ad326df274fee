import { describe, expect, it } from 'vitest'
import { limitConcurrency } from './limit-concurrency.js'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('limited concurrency', () => {
  it('runs a few tasks at a time, all of them, and each returns its own result', async () => {
    let atWork = 0
    let most = 0
    const results = await Promise.all(
      Array.from({ length: 100 }, (_, n) =>
        limitConcurrency(async () => {
          most = Math.max(most, ++atWork)
          await turn()
          atWork--
          return n
        }),
      ),
    )
    expect(results).toEqual([...Array(100).keys()])
    expect(most).toBe(8)
  })

  it('continues after a task that fails', async () => {
    const failing = Array.from({ length: 20 }, () => limitConcurrency(() => Promise.reject(new Error('no'))))
    expect((await Promise.allSettled(failing)).every(({ status }) => status === 'rejected')).toBe(true)
    expect(await limitConcurrency(async () => 'yes')).toBe('yes')
  })

  it('does not wait for a task that hangs', async () => {
    for (let n = 0; n < 20; n++) void limitConcurrency(() => new Promise(() => undefined))
    expect(await limitConcurrency(async () => 'done')).toBe('done')
  })
})
