import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Heartbeats } from './heartbeats.js'

describe('the heartbeats of a store', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('use one timer for all sessions, and none without sessions', () => {
    const heartbeats = new Heartbeats(100)
    const counts = [0, 0, 0]
    const beats = counts.map((_, at) => ({
      beat() {
        counts[at] = (counts[at] ?? 0) + 1
      },
    }))
    for (const beat of beats) heartbeats.add(beat)
    expect(vi.getTimerCount()).toBe(1)
    vi.advanceTimersByTime(250)
    expect(counts).toEqual([2, 2, 2])
    for (const beat of beats.slice(1)) heartbeats.remove(beat)
    vi.advanceTimersByTime(100)
    expect(counts).toEqual([3, 2, 2])
    for (const beat of beats) heartbeats.remove(beat)
    expect(vi.getTimerCount()).toBe(0)
    heartbeats.add({ beat: () => void counts.push(9) })
    vi.advanceTimersByTime(100)
    expect(counts).toEqual([3, 2, 2, 9])
  })

  it('continue when a session is removed by the beat of another', () => {
    const heartbeats = new Heartbeats(100)
    let count = 0
    const last = { beat: () => void count++ }
    heartbeats.add({ beat: () => heartbeats.remove(last) })
    heartbeats.add(last)
    vi.advanceTimersByTime(300)
    expect(count).toBeLessThanOrEqual(1)
    expect(vi.getTimerCount()).toBe(1)
  })
})
