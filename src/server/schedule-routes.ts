import type { FireReport, ScheduleStatus } from '../agent/dir/index.js'
import type { RunRow } from '../store/records.js'
import type { SessionInfo } from '../store/session-store.js'
import { messageOf } from '../tool/errors.js'
import { callerRoute, json, listResponse, type Route, type RouteContext } from './route.js'
import { seesTenant } from './sees-tenant.js'

/** The schedules of served agent directories. */
export const scheduleRoutes: readonly Route[] = [
  callerRoute('GET', '/v1/schedules', 'listSchedules', {
    summary:
      'The schedules of the agent directories that this process serves, with their next and last fires.',
    tag: 'schedules',
    responses: listResponse(
      'The schedules; none when no agent directory is served.',
      'schedules',
      'Schedule',
    ),
    handle: listSchedules,
  }),
]

async function listSchedules(context: RouteContext): Promise<Response> {
  const { core } = context
  const served = (core.options.agentDirs ?? []).flatMap((dir) => dir.schedules())
  const sessions = served.length === 0 ? [] : await core.pool.store.list()
  const schedules = await Promise.all(
    served.map(async (status) => {
      const info = sessions.find(({ id }) => id === status.sessionId)
      if (!(await isVisible(context, info))) return []
      const recent = (info === undefined ? [] : await core.summaries.triggeredRuns(info)).map(loggedFire)
      return [shownSchedule(status, recent)]
    }),
  )
  return json(200, { schedules: schedules.flat() })
}

/** Whether the caller can see a schedule: only callers that can read its session. */
async function isVisible({ core, principal }: RouteContext, info: SessionInfo | undefined): Promise<boolean> {
  if (!seesTenant(principal, info?.labels?.['tenantId'])) return false
  return info === undefined || core.allows(principal, 'getSession', info)
}

type Fire = Readonly<Record<string, unknown>> & { readonly runId?: string | undefined }

function shownSchedule(status: ScheduleStatus, recent: readonly Fire[]): Record<string, unknown> {
  const { last, ...rest } = status
  return { ...rest, last: last === undefined ? recent[0] : reportedFire(last), recent }
}

/** Converts a fire of this process. Skipped fires are not in a log. */
function reportedFire(report: FireReport): Fire {
  const { firedAtMs, startedAtMs, endedAtMs, status, manual, source } = report
  return {
    ...{ firedAtMs, startedAtMs, endedAtMs, status },
    source: source ?? (manual ? 'api' : 'schedule'),
    runId: report.status === 'skipped' ? undefined : report.runId,
    reason: report.status === 'skipped' ? report.reason : undefined,
    text: report.status === 'completed' ? report.result.text.slice(0, maxText) : undefined,
    error: 'error' in report ? messageOf(report.error).slice(0, maxText) : undefined,
  }
}

/** Converts a fire of any process from the log. */
function loggedFire({ id, status, trigger, createdAtMs, updatedAtMs, resultText, error }: RunRow): Fire {
  const isOpen = status === 'running' || status === 'queued'
  return {
    firedAtMs: trigger?.fired_at ?? createdAtMs,
    startedAtMs: createdAtMs,
    endedAtMs: isOpen ? undefined : updatedAtMs,
    status,
    source: trigger?.source ?? 'schedule',
    runId: id,
    text: resultText?.slice(0, maxText),
    error: error?.slice(0, maxText),
  }
}

const maxText = 2_000
