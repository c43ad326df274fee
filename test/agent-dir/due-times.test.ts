import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readCron } from '../../src/agent/dir/cron.js'
import { dueTimes, toleranceMs } from '../../src/agent/dir/due-times.js'
import { FiredTimes } from '../../src/agent/dir/fired-times.js'
import { propertyRuns } from '../support/property-runs.js'

const at = (text: string): number => Date.parse(text)
const texts = (times: readonly number[]): string[] => times.map((time) => new Date(time).toISOString())

describe('the times of a cron pattern', () => {
  it('come once on a day that has the hour twice, and not on a day that skips it', () => {
    const { next } = readCron('30 2 * * *', 'Europe/Berlin')
    const days = (start: string): string[] => {
      const found: number[] = []
      for (let time = at(start); found.length < 3; ) {
        time = next(time) ?? Number.NaN
        found.push(time)
      }
      return texts(found)
    }
    // The clock goes from 02:00 to 03:00: what was due at 02:30 comes as soon as that.
    expect(days('2026-03-28T00:00:00Z')).toEqual([
      '2026-03-28T01:30:00.000Z',
      '2026-03-29T01:00:00.000Z',
      '2026-03-30T00:30:00.000Z',
    ])
    expect(days('2026-10-24T00:00:00Z')).toEqual([
      '2026-10-24T00:30:00.000Z',
      '2026-10-25T00:30:00.000Z',
      '2026-10-26T01:30:00.000Z',
    ])
  })

  it('with a step of minutes come in both of the repeated hours', () => {
    const { last } = readCron('*/30 * * * *', 'Europe/Berlin')
    expect(texts(last(at('2026-10-25T02:00:00Z'), 5)).reverse()).toEqual([
      '2026-10-25T00:00:00.000Z',
      '2026-10-25T00:30:00.000Z',
      '2026-10-25T01:00:00.000Z',
      '2026-10-25T01:30:00.000Z',
      '2026-10-25T02:00:00.000Z',
    ])
  })

  it('are the same forwards and backwards, through every change of the clocks', () => {
    const zones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu']
    const patterns = [
      '30 2 * * *',
      '*/20 * * * *',
      '0 */6 * * *',
      '15 1,2,3 * * *',
      '0 0 * * 0',
      '59 1 1 * *',
    ]
    fc.assert(
      fc.property(
        fc.constantFrom(...patterns),
        fc.constantFrom(...zones),
        fc.integer({ min: at('2026-01-01T00:00:00Z'), max: at('2027-01-01T00:00:00Z') }),
        (pattern, zone, until) => {
          const times = readCron(pattern, zone)
          const back = times.last(until, 6)
          expect(back[0]).toBeLessThanOrEqual(until)
          const forth = back.slice(1).map((time) => times.next(time))
          expect(forth).toEqual(back.slice(0, -1))
          expect(times.next(until) ?? 0).toBeGreaterThan(until)
        },
      ),
      { numRuns: propertyRuns(300) },
    )
  })
})

describe('a due fire', () => {
  const times = readCron('*/10 * * * *', 'UTC')
  const due = (cursor: string, now: string, catchUp: 'none' | 'last' | 'all' = 'none') => {
    const { fires, missed, cursor: next } = dueTimes({ times, cursor: at(cursor), now: at(now), catchUp })
    return {
      fires: texts(fires),
      missed: missed === undefined ? undefined : texts([missed])[0],
      next: texts([next])[0],
    }
  }

  it('starts when it is a little late, and is missed when it is later', () => {
    expect(due('2026-05-01T09:05:00Z', '2026-05-01T09:09:59.999Z')).toMatchObject({ fires: [] })
    expect(due('2026-05-01T09:05:00Z', '2026-05-01T09:10:00Z')).toMatchObject({
      fires: ['2026-05-01T09:10:00.000Z'],
    })
    expect(due('2026-05-01T09:05:00Z', '2026-05-01T09:11:00Z')).toMatchObject({
      fires: ['2026-05-01T09:10:00.000Z'],
    })
    expect(due('2026-05-01T09:05:00Z', '2026-05-01T09:11:00.001Z')).toMatchObject({
      fires: [],
      missed: '2026-05-01T09:10:00.000Z',
    })
  })

  it('after a night of sleep is skipped, made up once, or made up for all times, as the schedule says', () => {
    const night = ['2026-05-01T09:05:00Z', '2026-05-01T09:48:00Z'] as const
    expect(due(...night)).toMatchObject({ fires: [], missed: '2026-05-01T09:40:00.000Z' })
    expect(due(...night, 'last')).toMatchObject({
      fires: ['2026-05-01T09:40:00.000Z'],
      missed: '2026-05-01T09:30:00.000Z',
    })
    expect(due(...night, 'all')).toEqual({
      fires: ['10', '20', '30', '40'].map((minute) => `2026-05-01T09:${minute}:00.000Z`),
      missed: undefined,
      next: '2026-05-01T09:48:00.000Z',
    })
    expect(due('2025-05-01T09:05:00Z', '2026-05-01T09:48:00Z', 'all').fires).toHaveLength(50)
  })

  it('does not start again when the clock is set back, and waits for no clock that was wrong by years', () => {
    expect(due('2026-05-01T09:40:00Z', '2026-05-01T09:10:00Z')).toEqual({
      fires: [],
      missed: undefined,
      next: '2026-05-01T09:40:00.000Z',
    })
    expect(due('2030-01-01T00:00:00Z', '2026-05-01T09:10:00Z').next).toBe('2026-05-01T09:10:00.000Z')
  })
})

describe('a recorded fire', () => {
  const row = (fired_at: number, source: 'schedule' | 'api' = 'schedule') => ({
    ...{ id: `${fired_at}`, sessionId: 's', status: 'completed' as const, prompt: '' },
    ...{ createdAtMs: 0, updatedAtMs: 0, trigger: { source, fired_at, schedule_id: 'x' } },
  })

  const due = (fired_at: number) => row(fired_at).trigger

  it('is identified by its time, and covers what was due before it', () => {
    const fired = new FiredTimes([row(1_000), row(3_000), row(9_000, 'api')])
    expect([1_000, 2_000, 3_000, 4_000, 9_000].map((time) => fired.has(due(time), 5_000))).toEqual([
      true,
      true,
      true,
      false,
      false,
    ])
    expect(fired.latest).toBe(3_000)
  })

  it('is forgotten when it is old, and covered by later ones', () => {
    const fired = new FiredTimes(Array.from({ length: 3_000 }, (_, at) => row(at * 1_000)))
    expect(fired.latest).toBe(2_999_000)
    expect(fired.has(due(5_000), 3_000_000)).toBe(true)
    expect(fired.has(due(3_000_000), 3_000_000)).toBe(false)
  })

  it('for a wake-up or a message covers no other one', () => {
    const other = { source: 'wake_up' as const, fired_at: 3_000, schedule_id: 'x' }
    const message = { ...other, source: 'webhook' as const, delivery: 'one' }
    const fired = new FiredTimes([row(9_000), { ...row(1), trigger: other }, { ...row(2), trigger: message }])
    expect(fired.has(other, 9_000)).toBe(true)
    expect(fired.has({ ...other, fired_at: 2_000 }, 9_000)).toBe(false)
    expect(fired.has({ ...message, fired_at: 8_000 }, 9_000)).toBe(true)
    expect(fired.has({ ...message, delivery: 'two' }, 9_000)).toBe(false)
    expect(fired.latest).toBe(9_000)
  })

  it('of a node whose clock ran far ahead stops no other node', () => {
    const ahead = 5_000 + toleranceMs + 1
    const fired = new FiredTimes([row(ahead)])
    expect(fired.has(due(4_000), 5_000)).toBe(false)
    expect(fired.has(due(ahead), 5_000)).toBe(true)
  })
})
