import { messageOf } from '../../tool/errors.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import { compileGlob } from '../../workspace/search/glob-pattern.js'
import { catchUpPolicies, overlapPolicies, type ScheduleDefinition } from './agent-dir.js'
import { type CronTimes, isTimeZone, readCron } from './cron.js'
import type { DirFile } from './dir-files.js'
import { readFields } from './fields.js'
import type { Findings } from './findings.js'

/** A schedule with its parsed cron pattern. */
export type Schedule = { readonly definition: ScheduleDefinition; readonly times: CronTimes }

const known = [
  'name',
  'description',
  'cron',
  'enabled',
  'time_zone',
  'timeZone',
  'timezone',
  'overlap',
  'catch_up',
  'catchUp',
  'jitter_ms',
  'jitterMs',
  'timeout_ms',
  'timeoutMs',
  'watch',
  'webhook_secret',
  'webhookSecret',
  'wake_ups',
  'wakeUps',
]

const day = 86_400_000

/** Reads `schedules/*.md`: the times and the prompts. */
export function readSchedules(files: readonly DirFile[], usualZone: string, findings: Findings): Schedule[] {
  const taken = new Map<string, string>()
  return files.flatMap((file) => {
    const schedule = readSchedule(file, usualZone, findings)
    if (schedule === undefined) return []
    const { name, enabled } = schedule.definition
    const other = taken.get(name)
    if (enabled && other !== undefined) {
      findings.add(file.file, 1, `duplicate enabled schedule name: ${name} (also in ${other}); rename one`)
      return []
    }
    if (enabled) taken.set(name, file.file)
    return [schedule]
  })
}

function readSchedule(file: DirFile, usualZone: string, findings: Findings): Schedule | undefined {
  const fields = readFields(file, findings)
  if (fields === undefined) return undefined
  fields.refuseOthers(known)
  const name = fields.text('name') ?? file.stem
  // The name becomes part of a session id, of messages and of file names.
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(name))
    return fields.fail('name must be 1 to 100 letters, digits, ".", "_" and "-"', fields.named('name'))
  const zoneField = fields.named('time_zone', 'timeZone', 'timezone')
  const timeZone = fields.text('time_zone', 'timeZone', 'timezone') ?? usualZone
  const zoneIsKnown = isTimeZone(timeZone)
  if (!zoneIsKnown)
    fields.fail(
      `schedule '${name}' has an unknown time zone '${timeZone.slice(0, 60)}': use a name such as Europe/Berlin or UTC`,
      zoneField,
    )
  const overlap = fields.word(overlapPolicies, 'skip', 'overlap')
  const catchUp = fields.word(catchUpPolicies, 'none', 'catch_up', 'catchUp')
  const jitterMs = fields.whole(0, day, 'jitter_ms', 'jitterMs') ?? 0
  const timeoutMs = fields.whole(1, day, 'timeout_ms', 'timeoutMs')
  const enabled = fields.flag('enabled', true)
  if (fields.body === '') fields.fail(`schedule '${name}' has no prompt after its front matter`)
  const cron = fields.text('cron')
  const watch = fields.texts('watch')
  const webhookSecret = fields.text('webhook_secret', 'webhookSecret')
  const wakeUps = fields.whole(1, maxWakeUps, 'wake_ups', 'wakeUps')
  if (webhookSecret !== undefined && !/^[A-Za-z_][A-Za-z0-9_]*$/.test(webhookSecret))
    fields.fail('webhook_secret must be the name of an environment variable', 'webhook_secret')
  const problem = watch.map(watchProblem).find((each) => each !== undefined)
  if (problem !== undefined) fields.fail(problem, 'watch')
  if (
    cron === undefined &&
    (fields.named('cron') !== undefined || (watch.length === 0 && webhookSecret === undefined))
  ) {
    if (fields.named('cron') === undefined)
      fields.fail(
        `schedule '${name}' has no cron: add a field such as cron: "0 9 * * 1-5", or watch or webhook_secret`,
      )
    return undefined
  }
  let times: CronTimes = never
  try {
    if (cron !== undefined) times = readCron(cron, zoneIsKnown ? timeZone : 'UTC')
  } catch (error) {
    return fields.fail(
      `schedule '${name}' has an invalid cron '${cron?.slice(0, 100)}': ${messageOf(error)}`,
      'cron',
    )
  }
  const definition = {
    ...{ name, file: file.file, enabled, timeZone, overlap, catchUp, jitterMs, prompt: fields.body },
    ...omitUndefined({
      cron,
      timeoutMs,
      webhookSecret,
      wakeUps,
      watch: watch.length > 0 ? watch : undefined,
    }),
  }
  return { definition, times }
}

const maxWakeUps = 100

/** The times of a schedule without a cron pattern. */
const never: CronTimes = { next: () => undefined, last: () => [] }

/** Returns the problem of a pattern. Only files of the workspace can be watched. */
function watchProblem(pattern: string): string | undefined {
  if (pattern.startsWith('/') || pattern.split('/').includes('..'))
    return `watch has '${pattern.slice(0, 100)}': name files inside the workspace, without ".."`
  try {
    compileGlob(pattern)
    return undefined
  } catch (error) {
    return `watch has an invalid pattern '${pattern.slice(0, 100)}': ${messageOf(error)}`
  }
}
