import { describe, expect, it } from 'vitest'
import { Outbox } from './outbox.js'
import type { AhpEvent } from './protocol.js'

const event = (n: number): AhpEvent => ({
  event_type: 'heartbeat',
  session_id: 's',
  agent_id: 'a',
  timestamp: '2026-01-01T00:00:00Z',
  depth: 0,
  payload: { n },
})
const numbers = (events: readonly AhpEvent[]): unknown[] => events.map(({ payload }) => payload['n'])

describe('Outbox', () => {
  it('returns events in the order of their arrival, at most the requested number', () => {
    const outbox = new Outbox()
    for (const n of [1, 2, 3]) outbox.add(event(n))
    expect(numbers(outbox.take(2))).toEqual([1, 2])
    expect(outbox.size).toBe(1)
    expect(numbers(outbox.take(9))).toEqual([3])
    expect(outbox.take(9)).toEqual([])
  })

  it('drops the oldest when the supervisor is disconnected for long, and counts them', () => {
    const outbox = new Outbox()
    for (let n = 0; n < 1_003; n++) outbox.add(event(n))
    expect(outbox.size).toBe(1_000)
    expect(outbox.dropped).toBe(3)
    expect(numbers(outbox.take(1))).toEqual([3])
  })
})
