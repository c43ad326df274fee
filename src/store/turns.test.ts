import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Turns } from './turns.js'

describe('turns of the sessions of a store', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('sync many logs with one timer, each once and within the delay', () => {
    const turns = new Turns(10)
    const begun: string[] = []
    const log = (name: string) => ({
      takeTurn: (): void => void begun.push(`${name} at ${performance.now() - start}`),
    })
    const start = performance.now()
    const first = log('first')
    turns.add(first)
    turns.add(first)
    vi.advanceTimersByTime(4)
    turns.add(log('second'))
    vi.advanceTimersByTime(4)
    turns.add(log('third'))
    expect(vi.getTimerCount()).toBe(1)
    vi.advanceTimersByTime(100)
    expect(begun).toEqual(['first at 10', 'second at 10', 'third at 18'])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('skip a log that was removed, and need no timer when none is left', () => {
    const turns = new Turns(10)
    const begun: string[] = []
    const one = { takeTurn: (): void => void begun.push('one') }
    const other = { takeTurn: (): void => void begun.push('other') }
    turns.add(one)
    turns.add(other)
    turns.remove(one)
    turns.remove(one)
    vi.advanceTimersByTime(10)
    expect(begun).toEqual(['other'])
    turns.add(one)
    turns.remove(one)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('take no more at once than they are allowed to', () => {
    const turns = new Turns(10, { maxAtOnce: 100 })
    let count = 0
    for (let at = 0; at < 250; at++) turns.add({ takeTurn: () => void count++ })
    const counts = [10, 1, 1].map((ms) => {
      vi.advanceTimersByTime(ms)
      return count
    })
    expect(counts).toEqual([100, 200, 250])
    expect(vi.getTimerCount()).toBe(0)
  })
})
