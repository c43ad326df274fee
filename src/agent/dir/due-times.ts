import { omitUndefined } from '../../tool/omit-undefined.js'
import type { CatchUpPolicy } from './agent-dir.js'
import type { CronTimes } from './cron.js'

export type DueTimes = {
  /** The times to fire now, in order. */
  readonly fires: readonly number[]
  /** The latest time that is skipped; absent if none is. */
  readonly missed?: number
  /** The time from which to continue. */
  readonly cursor: number
}

export type DueOptions = {
  readonly times: CronTimes
  /** All times up to this one were handled. */
  readonly cursor: number
  readonly now: number
  readonly catchUp: CatchUpPolicy
}

/** A fire that is later than this counts as missed. A machine that wakes up notices it within half of this time. */
const graceMs = 60_000
/** A clock that goes back by less than this is being adjusted, and the times in between are already handled. */
export const toleranceMs = 3_600_000
const maxCatchUp = 50

/**
 * The times that are due between the cursor and now. Of late fires only the last one is made, unless the policy is to
 * make up for missed ones.
 */
export function dueTimes({ times, cursor: before, now, catchUp }: DueOptions): DueTimes {
  const cursor = soundCursor(before, now)
  if (cursor >= now) return { fires: [], cursor }
  // Finding the next time is much faster than finding the last ones, and most of the time nothing is due.
  const next = times.next(cursor)
  if (next === undefined || next > now) return { fires: [], cursor: now }
  const wanted = catchUp === 'all' ? maxCatchUp : 1
  const due = times.last(now, wanted + 1).filter((time) => time > cursor)
  const isOnTime = ([latest]: readonly number[]): boolean => latest !== undefined && now - latest <= graceMs
  const fires = catchUp === 'none' && !isOnTime(due) ? [] : due.slice(0, wanted)
  const missed = due[fires.length]
  return { fires: fires.toReversed(), cursor: now, ...omitUndefined({ missed }) }
}

/** Corrects a cursor far in the future, which a wrong clock has written. */
export function soundCursor(cursor: number, now: number): number {
  return cursor > now + toleranceMs ? now : cursor
}
