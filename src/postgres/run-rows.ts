import type { QueuedRun, RunSubmission } from '../run-queue/run-queue.js'

/** A row of `queue_runs`, as {@link runColumns} selects it. */
export type RunRow = {
  readonly ord: number
  readonly run_id: string
  readonly session_id: string
  readonly tenant: string | null
  readonly tier: string | null
  readonly lane: string
  readonly priority: number
  readonly not_before: number
  readonly submission: string
  readonly digest: string
  readonly state: QueuedRun['state']
  readonly front: boolean
  readonly job: string | null
  readonly submitted_at: number
  readonly updated_at: number
  readonly attempt: number
  readonly takeovers: number
  readonly position: number
  readonly redrives: number
  readonly node: number | null
  readonly cancel_requested: boolean
  readonly error: string | null
}

export const runColumns = `ord::float8 as ord, run_id, session_id, tenant, tier, lane, priority,
  not_before::float8 as not_before, submission, digest, state, front, job, submitted_at::float8 as submitted_at,
  updated_at::float8 as updated_at, attempt, takeovers, position::float8 as position, redrives, node, cancel_requested, error`

/** The time of the database in milliseconds, so that the clocks of nodes do not matter. */
export const nowMs = '(extract(epoch from clock_timestamp()) * 1000)::bigint'

/**
 * Matches a run `r` that must wait for another run of its session: one that has started, or is due and comes first.
 */
export function mustWait(schema: string): string {
  return `exists (select 1 from ${schema}.queue_runs o
    where o.session_id = r.session_id and o.ord <> r.ord and (o.state in ('active', 'waiting')
      or (o.state = 'queued' and o.not_before <= ${nowMs} and (o.front, -o.ord) > (r.front, -r.ord))))`
}

export function runOf(row: RunRow): QueuedRun {
  const submission: RunSubmission = JSON.parse(row.submission)
  return {
    ...submission,
    state: row.state,
    submittedAtMs: row.submitted_at,
    updatedAtMs: row.updated_at,
    attempt: row.attempt,
    takeovers: row.takeovers,
    position: row.position,
    redrives: row.redrives,
    ...(row.node !== null && { nodeId: String(row.node) }),
    cancelRequested: row.cancel_requested,
    ...(row.error !== null && { error: JSON.parse(row.error) }),
  }
}

/** Returns the group of a run, for the limits of tenants; undefined without a tenant. */
export function groupOf(row: Pick<RunRow, 'tenant' | 'tier'>): string | undefined {
  return row.tenant === null ? undefined : `${row.tenant}\n${row.tier ?? ''}`
}

/** Returns the name of a lane in pg-boss, which allows few characters. */
export function jobQueueOf(lane: string): string {
  return /^[\w-]{1,60}$/.test(lane) ? `lane-${lane}` : `hex-${Buffer.from(lane).toString('hex')}`
}
