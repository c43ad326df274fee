import { describe, expect, it } from 'vitest'
import { FixedClock, randomIds, SequentialIdGenerator, systemClock } from './host-env.js'

describe('the clock and randomness of a host', () => {
  it('are reproducible when they are configured so', () => {
    const ids = new SequentialIdGenerator('run')
    expect([ids.next(), ids.next(), ids.next()]).toEqual(['run-0', 'run-1', 'run-2'])
    expect(new SequentialIdGenerator().next()).toBe('id-0')
    const still = new FixedClock(5)
    expect([still.now(), still.now()]).toEqual([5, 5])
    const moving = new FixedClock(5, 10)
    expect([moving.now(), moving.now(), moving.now()]).toEqual([5, 15, 25])
  })

  it('are independent for each generator', () => {
    const first = new SequentialIdGenerator()
    first.next()
    expect(new SequentialIdGenerator().next()).toBe('id-0')
  })

  it('are those of the machine by default', () => {
    expect(new Set(Array.from({ length: 100 }, () => randomIds.next())).size).toBe(100)
    const before = Date.now()
    expect(systemClock.now()).toBeGreaterThanOrEqual(before)
  })
})
