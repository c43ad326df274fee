import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AgentEvent } from '../loop/events.js'
import { type RunEvent, RunEvents } from './run-events.js'

const turn = (n: number): AgentEvent => ({ type: 'turn_start', turn: n })
const end: AgentEvent = { type: 'agent_cancelled', reason: 'done' }

async function all(watched: AsyncIterable<RunEvent>): Promise<RunEvent[]> {
  const events: RunEvent[] = []
  for await (const event of watched) events.push(event)
  return events
}

describe('the events of a run', () => {
  it('are numbered from 1 without gaps, and counted when they were dropped', () => {
    const events = new RunEvents(3)
    for (let at = 1; at <= 50; at++) events.add(turn(at), at)
    expect(events.count).toBe(50)
    expect(events.list()).toEqual([48, 49, 50].map((n) => ({ sequence: n, timestampMs: n, event: turn(n) })))
    events.add(turn(51), 51)
    expect(events.list().map(({ sequence }) => sequence)).toEqual([49, 50, 51])
  })

  it('are returned as a list that callers cannot change', () => {
    const events = new RunEvents(3)
    events.add(turn(1), 1)
    events.list().pop()
    expect(events.list()).toHaveLength(1)
  })

  it('are the same for every reader after the run has ended, also for two that alternate', async () => {
    const events = new RunEvents(100)
    const start: AgentEvent = { type: 'agent_start', runId: 'r', prompt: 'x'.repeat(200) }
    events.add(start, 1)
    events.add({ type: 'usage_note', value: undefined } as unknown as AgentEvent, 2)
    const before = events.list()
    events.add(end, 3)
    events.rest()
    const whole = [...before, { sequence: 3, timestampMs: 3, event: end }]
    expect(events.list()).toStrictEqual(whole)
    const watching = events.watch()
    expect((await watching.next()).value).toStrictEqual(whole[0])
    expect(await all(events.watch(1))).toStrictEqual(whole.slice(1))
    expect(events.list()).toStrictEqual(whole)
    expect((await watching.next()).value).toStrictEqual(whole[1])
    expect(events.count).toBe(3)
  })

  it('keep the exact time of each, by any clock', () => {
    // Plus 0, because −0 is the same time as 0 and is stored as 0.
    const anyTime = fc.double().map((time) => time + 0)
    const times = fc.array(fc.oneof(anyTime, fc.integer({ min: 0, max: 2 ** 45 })), { minLength: 1 })
    fc.assert(
      fc.property(times, (given) => {
        const events = new RunEvents(1_000)
        for (const [at, time] of given.entries()) events.add(turn(at), time)
        events.add(end, given[0] ?? 0)
        const before = events.list()
        events.rest()
        expect(events.count).toBe(given.length + 1)
        expect(events.list()).toStrictEqual(before)
      }),
    )
  })

  it('can be read from any position, whenever they arrive and however many are stored', async () => {
    const times = fc.record({
      before: fc.nat(60),
      after: fc.nat(60),
      from: fc.oneof(fc.nat(80), fc.constantFrom(-1, 2.5, Number.NaN)),
      most: fc.integer({ min: 1, max: 70 }),
    })
    await fc.assert(
      fc.asyncProperty(times, async ({ before, after, from, most }) => {
        const events = new RunEvents(most)
        let n = 0
        for (; n < before; n++) events.add(turn(n + 1), 0)
        const reading = all(events.watch(from))
        for (; n < before + after; n++) {
          events.add(turn(n + 1), 0)
          if (n % 3 === 0) await Promise.resolve()
        }
        events.add(end, 0)
        const read = await reading
        const first = from > 0 ? Math.floor(from) : 0
        let last = first
        for (const { sequence, event } of read) {
          if (event.type === 'events_missed') expect(sequence).toBe(last + event.count)
          else expect(sequence).toBe(last + 1)
          last = sequence
        }
        expect(last).toBe(Math.max(first, n + 1))
        if (most > n) expect(read.some(({ event }) => event.type === 'events_missed')).toBe(false)
      }),
    )
  })

  it('report to a late reader how many are missing', async () => {
    const events = new RunEvents(2)
    for (let at = 1; at <= 30; at++) events.add(turn(at), at)
    events.add(end, 31)
    events.list()
    const [missed, ...rest] = await all(events.watch(5))
    expect(missed).toMatchObject({ sequence: 29, event: { type: 'events_missed', count: 24 } })
    expect(rest.map(({ sequence }) => sequence)).toEqual([30, 31])
  })

  it('are not lost to a reader that gets events_missed while more are dropped and the run ends', async () => {
    const events = new RunEvents(1)
    for (let at = 1; at <= 30; at++) events.add(turn(at), at)
    const watched = events.watch()
    expect((await watched.next()).value).toMatchObject({ event: { type: 'events_missed' } })
    for (let at = 31; at <= 60; at++) events.add(turn(at), at)
    events.add(end, 61)
    events.list()
    expect((await all(watched)).map(({ sequence, event }) => [sequence, event.type])).toEqual([
      [60, 'events_missed'],
      [61, 'agent_cancelled'],
    ])
  })

  it('continue for others when one reader stops', async () => {
    const events = new RunEvents(10)
    const reading = all(events.watch())
    const other = events.watch()
    events.add(turn(1), 0)
    expect((await other.next()).done).toBe(false)
    await other.return()
    events.add(end, 0)
    expect(await reading).toHaveLength(2)
  })

  it('stop at once when the signal is aborted, also for a reader that waits', async () => {
    const events = new RunEvents(10)
    const controller = new AbortController()
    const waiting = events.watch(0, controller.signal).next()
    controller.abort()
    expect((await waiting).done).toBe(true)
    events.add(turn(1), 0)
    expect((await events.watch(0, controller.signal).next()).done).toBe(true)
  })

  it('end for a reader that starts after the end', async () => {
    const events = new RunEvents(10)
    events.add(end, 0)
    expect(await all(events.watch(1))).toEqual([])
  })
})
