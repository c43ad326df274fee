import type { CatchUpPolicy } from './agent-dir.js'
import type { CronTimes } from './cron.js'

export type DueTimes = {
  /** To be made now, in order. */
  readonly fires: readonly number[]
  /** The latest of those that are left out; absent when none is. */
  readonly missed?: number
  /** Where to look on from. */
  readonly cursor: number
}

export type DueOptions = {
  readonly times: CronTimes
  /** What is due up to this time was looked at. */
  readonly cursor: number
  readonly now: number
  readonly catchUp: CatchUpPolicy
}

/** A fire that is so late is late; beyond that it was missed. A machine that was asleep notices within half of it. */
const graceMs = 60_000
/** A clock that goes back by less is being set right: what was due in the meantime was done. By more, it was wrong before. */
export const toleranceMs = 3_600_000
const maxCatchUp = 50

/** What is due between the cursor and now. Of fires that are late only the last is made, unless missed ones are made up for. */
export function dueTimes({ times, cursor: before, now, catchUp }: DueOptions): DueTimes {
  const cursor = soundCursor(before, now)
  if (cursor >= now) return { fires: [], cursor }
  const wanted = catchUp === 'all' ? maxCatchUp : 1
  const due = times.last(now, wanted + 1).filter((time) => time > cursor)
  const isOnTime = ([latest]: readonly number[]): boolean => latest !== undefined && now - latest <= graceMs
  const fires = catchUp === 'none' && !isOnTime(due) ? [] : due.slice(0, wanted)
  const missed = due[fires.length]
  return { fires: fires.toReversed(), cursor: now, ...(missed !== undefined && { missed }) }
}

/** A time that lies far ahead was taken from a clock that was wrong. */
export function soundCursor(cursor: number, now: number): number {
  return cursor > now + toleranceMs ? now : cursor
}
