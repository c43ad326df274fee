import { Cron } from 'croner'
import { messageOf } from '../../tool/errors.js'

/** When a schedule is due, to the second. */
export interface CronTimes {
  /** The first time after this one; undefined when there is none. */
  next(afterMs: number): number | undefined
  /** The last times up to this one and with it, the latest first. */
  last(untilMs: number, count: number): number[]
}

/**
 * Reads a pattern of five fields (minute, hour, day of month, month, day of week), of six with seconds in front, or a name such as
 * `@daily`. A time that daylight saving skips comes when the clock has moved on, one that it repeats comes once; what is due every so
 * many minutes is due in both of the repeated hours. Throws what is wrong in words.
 */
export function readCron(pattern: string, timeZone: string): CronTimes {
  // Otherwise taken for the date of something that happens once.
  if (pattern.includes(':')) throw new TypeError('it has five or six fields, or is a name such as @daily')
  let cron: Cron
  try {
    cron = new Cron(pattern, { timezone: timeZone, mode: '5-or-6-parts', paused: true })
  } catch (error) {
    throw new TypeError(inOurWords(messageOf(error)), { cause: error })
  }
  const next = (afterMs: number): number | undefined => cron.nextRun(new Date(afterMs))?.getTime()
  if (next(longAgo) === undefined) throw new TypeError('there is no such day')
  return {
    next,
    last: (untilMs, count) =>
      cron
        .previousRuns(count, new Date(Math.floor(untilMs / second) * second + second))
        .map((time) => time.getTime()),
  }
}

export function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}

const second = 1_000
/** Patterns name no year: what never comes after this day never comes. */
const longAgo = Date.UTC(2000, 0, 1)

function inOurWords(message: string): string {
  if (/invalid configuration format|requires exactly/.test(message))
    return 'it has five fields, or six with seconds in front'
  return (
    message
      .replace(/^CronPattern: /, '')
      .replace(/\.$/, '')
      // Days and months are counted from 0 there.
      .replace(
        /^(Invalid value for (?:day|month): )(-?\d+)$/,
        (_, words: string, n) => `${words}${Number(n) + 1}`,
      )
  )
}
