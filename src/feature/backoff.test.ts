import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Backoff, doublingPause, serverPause } from './backoff.js'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

describe('Backoff', () => {
  it('allows the first attempt at once', () => {
    expect(new Backoff(doublingPause(500)).leftMs).toBe(0)
  })

  it('doubles the pause with each failure, up to 30 seconds', () => {
    const backoff = new Backoff(doublingPause(500))
    const pauses = Array.from({ length: 9 }, () => {
      backoff.failed()
      return backoff.leftMs
    })
    expect(pauses).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000])
  })

  it('counts the pause down, to zero at least', () => {
    const backoff = new Backoff(doublingPause(500))
    backoff.failed()
    vi.advanceTimersByTime(499)
    expect(backoff.leftMs).toBe(1)
    vi.advanceTimersByTime(10)
    expect(backoff.leftMs).toBe(0)
  })

  it('starts with the first pause again after a success', () => {
    const backoff = new Backoff(doublingPause(500))
    for (let failures = 0; failures < 5; failures++) backoff.failed()
    backoff.succeeded()
    expect(backoff.leftMs).toBe(0)
    backoff.failed()
    expect(backoff.leftMs).toBe(500)
  })

  it('pauses for 1, 2, 5 and 15 seconds before a server restart, then for a minute each time', () => {
    const backoff = new Backoff(serverPause)
    const pauses = Array.from({ length: 7 }, () => {
      backoff.failed()
      return backoff.leftMs
    })
    expect(pauses).toEqual([1_000, 2_000, 5_000, 15_000, 60_000, 60_000, 60_000])
  })

  it('never pauses when the first pause is zero', () => {
    const backoff = new Backoff(doublingPause(0))
    backoff.failed()
    backoff.failed()
    expect(backoff.leftMs).toBe(0)
  })
})
