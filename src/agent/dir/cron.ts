import { Cron } from 'croner'
import { messageOf, tryOr } from '../../tool/errors.js'

/** The times at which a schedule is due. */
export interface CronTimes {
  /** The first time after this one; undefined when there is none. */
  next(afterMs: number): number | undefined
  /** The last times up to and including this one, latest first. */
  last(untilMs: number, count: number): number[]
}

/**
 * Parses a pattern of five fields (minute, hour, day of month, month, day of week), of six fields that start with
 * seconds, or a name such as `@daily`. A time that daylight saving time skips is due after the change; a repeated time
 * is due once; a pattern that repeats every few minutes is due in both hours. Throws an error that describes the
 * problem.
 */
export function readCron(pattern: string, timeZone: string): CronTimes {
  // The library would parse a pattern with a colon as a date.
  if (pattern.includes(':')) throw new TypeError('use five or six fields, or a name such as @daily')
  let cron: Cron
  try {
    cron = new Cron(pattern, { timezone: timeZone, mode: '5-or-6-parts', paused: true })
  } catch (error) {
    throw new TypeError(inOurWords(messageOf(error)), { cause: error })
  }
  const next = (afterMs: number): number | undefined => cron.nextRun(new Date(afterMs))?.getTime()
  if (next(longAgo) === undefined) throw new TypeError('this day does not exist')
  return {
    next,
    last: (untilMs, count) =>
      cron
        .previousRuns(count, new Date(Math.floor(untilMs / second) * second + second))
        .map((time) => time.getTime()),
  }
}

export function isTimeZone(name: string): boolean {
  return tryOr(() => new Intl.DateTimeFormat('en', { timeZone: name }), undefined) !== undefined
}

const second = 1_000
/** Patterns have no year, so a pattern without a match after this day never matches. */
const longAgo = Date.UTC(2000, 0, 1)

function inOurWords(message: string): string {
  if (/invalid configuration format|requires exactly/.test(message))
    return 'use five fields, or six fields that start with seconds'
  return (
    message
      .replace(/^CronPattern: /, '')
      .replace(/\.$/, '')
      // The library counts days and months from 0.
      .replace(
        /^(Invalid value for (?:day|month): )(-?\d+)$/,
        (_, words: string, n) => `${words}${Number(n) + 1}`,
      )
  )
}
