import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Backoff } from './backoff.js'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** How many seconds pass until it may be tried again. */
function pauseOf(backoff: Backoff): number {
  let seconds = 0
  for (; !backoff.isDue; seconds++) vi.advanceTimersByTime(1_000)
  return seconds
}

describe('Backoff', () => {
  it('waits longer after each failure, and at most a minute', () => {
    const backoff = new Backoff()
    expect(backoff.isDue).toBe(true)
    const pauses = Array.from({ length: 7 }, () => {
      backoff.failed()
      return pauseOf(backoff)
    })
    expect(pauses).toEqual([1, 2, 5, 15, 60, 60, 60])
  })

  it('begins with a second again after a success', () => {
    const backoff = new Backoff()
    for (let failures = 0; failures < 4; failures++) backoff.failed()
    backoff.succeeded()
    backoff.failed()
    expect(pauseOf(backoff)).toBe(1)
  })
})
