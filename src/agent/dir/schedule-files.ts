import { messageOf } from '../../tool/errors.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
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
  // The name is part of a session id, of messages and of file names.
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
  if (cron === undefined) {
    if (fields.named('cron') === undefined)
      fields.fail(`schedule '${name}' has no cron: add a field such as cron: "0 9 * * 1-5"`)
    return undefined
  }
  let times: CronTimes
  try {
    times = readCron(cron, zoneIsKnown ? timeZone : 'UTC')
  } catch (error) {
    return fields.fail(
      `schedule '${name}' has an invalid cron '${cron.slice(0, 100)}': ${messageOf(error)}`,
      'cron',
    )
  }
  const definition = {
    ...{ name, file: file.file, enabled, cron, timeZone, overlap, catchUp, jitterMs, prompt: fields.body },
    ...omitUndefined({ timeoutMs }),
  }
  return { definition, times }
}
