import { randomUUID } from 'node:crypto'
import type { JobInsert, PgBoss } from 'pg-boss'
import type { Run } from '../store/postgres/database.js'
import { inTransaction } from '../store/postgres/jobs.js'
import { decodeText } from '../store/postgres/text.js'
import { groupOf, jobQueueOf, nowMs, type RunRow, runColumns } from './run-rows.js'

export type LaneJobsOptions = {
  /** The quoted name of the schema; `schemaName` is the name as given. */
  readonly schema: string
  readonly schemaName: string
  /** Opens pg-boss on the first call. */
  boss(): Promise<PgBoss>
  /** Wakes the nodes once the transaction is committed. */
  wake(run: Run): Promise<void>
}

/**
 * The pg-boss jobs, one queue per lane. Only a run that can be claimed has a job: the first one of its session, or
 * one that is not due yet.
 */
export class LaneJobs {
  readonly #options: LaneJobsOptions
  readonly #lanes = new Map<string, Promise<void>>()

  constructor(options: LaneJobsOptions) {
    this.#options = options
  }

  /** Creates the queue of a lane in pg-boss, once per process. */
  ensureLane(lane: string): Promise<void> {
    const known = this.#lanes.get(lane)
    if (known !== undefined) return known
    const created = this.#options
      .boss()
      .then((boss) => createLane(boss, jobQueueOf(lane)))
      .catch((error: unknown) => {
        this.#lanes.delete(lane)
        throw error
      })
    this.#lanes.set(lane, created)
    return created
  }

  /** Allows one transaction at a time to decide which run of a session is next. */
  async lockSessions(run: Run, sessionIds: readonly string[]): Promise<void> {
    await run({
      name: 'capstan_lock_sessions',
      text: `select pg_advisory_xact_lock(hashtext('capstan session ${this.#options.schemaName}'), hashtext(id))
        from unnest($1::text[]) as id`,
      values: [[...sessionIds]],
    })
  }

  /**
   * Creates a job for the first run of a session, if it can be claimed, and for runs that are not due yet, which wait
   * in pg-boss. Runs in a transaction that has locked the session.
   */
  async advance(run: Run, sessionId: string): Promise<void> {
    const { schema } = this.#options
    const rows = await run<RunRow>({
      name: 'capstan_next_runs',
      text: `select ${runColumns} from ((
          select * from ${schema}.queue_runs
          where session_id = $1 and (state in ('active', 'waiting') or (state = 'queued' and not_before <= ${nowMs}))
          order by (state <> 'queued' or front) desc, ord limit 1
        ) union all (
          select * from ${schema}.queue_runs
          where session_id = $1 and state = 'queued' and not_before > ${nowMs} and job is null order by ord limit 100
        )) as next`,
      values: [sessionId],
    })
    await this.send(
      run,
      rows.filter(({ state, job }) => state === 'queued' && job === null),
    )
  }

  /** Sends the jobs of runs and wakes the nodes. */
  async send(run: Run, rows: readonly RunRow[]): Promise<void> {
    if (rows.length === 0) return
    const { schema, wake } = this.#options
    const boss = await this.#options.boss()
    const sent = rows.toSorted((a, b) => a.ord - b.ord).map((row) => ({ row, job: randomUUID() }))
    for (const lane of new Set(rows.map((row) => row.lane)))
      await boss.insert(
        jobQueueOf(decodeText(lane)),
        sent.filter(({ row }) => row.lane === lane).map(({ row, job }) => jobOf(row, job)),
        { db: inTransaction(run) },
      )
    await run({
      name: 'capstan_sent',
      text: `update ${schema}.queue_runs r set job = sent.job
        from unnest($1::text[], $2::uuid[]) as sent (run_id, job) where r.run_id = sent.run_id`,
      values: [sent.map(({ row }) => row.run_id), sent.map(({ job }) => job)],
    })
    await wake(run)
  }
}

/** Added to the priority of runs that had a slot before, so that they come first. */
const frontPriority = 1_000_000_000

/** A job is deleted when it is claimed, so pg-boss has nothing to retry, expire or clean up. */
const laneOptions = { retryLimit: 0, retentionSeconds: 10 * 365 * 24 * 3_600 } as const

/**
 * Creates the queue of a lane, and makes pg-boss load its metadata: otherwise it would do so later on a second
 * connection, in the middle of a transaction. With a pooler, transactions that wait for each other's connections
 * would deadlock.
 */
async function createLane(boss: PgBoss, name: string): Promise<void> {
  await boss.createQueue(name, laneOptions)
  await boss.findJobs(name, { id: randomUUID() })
}

/** Returns the job of a queued run. */
function jobOf(row: RunRow, id: string): JobInsert<{ runId: string }> {
  const group = groupOf(row)
  return {
    id,
    data: { runId: row.run_id },
    priority: row.priority + (row.front ? frontPriority : 0),
    ...(row.not_before > 0 && { startAfter: new Date(row.not_before) }),
    ...(group !== undefined && { group: { id: group } }),
  }
}
