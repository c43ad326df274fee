import type { PgBoss } from 'pg-boss'
import type {
  CancelOutcome,
  ClusterStatus,
  CounterAddition,
  CounterLimits,
  CounterTotals,
  LiveEvent,
  NodeDescription,
  PostOutcome,
  QueuedRun,
  QueueMember,
  Reservation,
  RunFilter,
  RunMessage,
  RunPage,
  RunQueue,
  RunRetention,
  RunSubmission,
  SubmitOutcome,
  TenantScope,
} from '../run-queue/run-queue.js'
import { isOpenRun } from '../run-queue/run-queue.js'
import { Database, type Run } from '../store/postgres/database.js'
import { type ConnectionOptions, keepingAlive } from '../store/postgres/driver.js'
import { openJobs } from '../store/postgres/jobs.js'
import type { PostgresSessionStoreOptions } from '../store/postgres/postgres-store.js'
import { checkSchema, quoted } from '../store/postgres/schema.js'
import { encodeText } from '../store/postgres/text.js'
import { readStatus } from './cluster-status.js'
import { Counters } from './counters.js'
import { removeEnded } from './ended-runs.js'
import { LaneJobs } from './lane-jobs.js'
import { PostgresMember } from './member.js'
import { Notices } from './notices.js'
import { nowMs, type RunRow, runColumns, runOf } from './run-rows.js'

/** The settings of a {@link PostgresRunQueue}: how it connects to its database. */
export type PostgresRunQueueOptions = PostgresSessionStoreOptions

/**
 * A queue of runs in a Postgres database, for any number of nodes. Needs the packages `pg` and `pg-boss`; `migrate`
 * creates the tables.
 *
 * A run has a row, which is authoritative for its state, and a job of pg-boss while it can be claimed. pg-boss
 * selects
 * what is next (priority, time, tenants at their limit); the claim checks the rest in the same transaction.
 *
 * @example
 * ```ts
 * const queue = new PostgresRunQueue({ url: 'postgres://capstan@db.example/capstan' })
 * ```
 */
export class PostgresRunQueue implements RunQueue {
  readonly backend = 'postgres'
  readonly #schemaName: string
  readonly #schema: string
  readonly #direct: ConnectionOptions
  readonly #maxWaitMs: number
  readonly #database: Database
  /** For reads of pg-boss itself: a transaction that waits for them must not block its own pool. */
  readonly #jobDatabase: Database
  readonly #notices: Notices
  readonly #jobs: LaneJobs
  readonly #counters: Counters
  readonly #members = new Set<PostgresMember>()
  #opening: Promise<PgBoss> | undefined
  #closing: Promise<void> | undefined

  constructor(options: PostgresRunQueueOptions) {
    const { url, directUrl = url, schema = 'capstan', pool = 4, maxWaitMs = 60_000 } = options
    const applicationName = 'capstan'
    this.#schemaName = schema
    this.#schema = quoted(schema)
    this.#maxWaitMs = maxWaitMs
    this.#direct = { url: directUrl, applicationName }
    const connections = {
      url,
      applicationName,
      share: schema,
      prepare: options.prepare ?? options.directUrl === undefined,
      maxWaitMs,
    }
    this.#database = new Database({ ...connections, poolSize: pool, maxPauseMs })
    this.#jobDatabase = new Database({ ...connections, share: `${schema} jobs`, poolSize: 1 })
    this.#counters = new Counters(this.#database, this.#schema)
    this.#notices = new Notices({
      database: this.#database,
      direct: this.#direct,
      channel: `capstan_${schema}`,
    })
    this.#jobs = new LaneJobs({
      schema: this.#schema,
      schemaName: schema,
      boss: () => this.#open(),
      wake: (run) => this.#notices.wake(run, 'work'),
    })
  }

  async submit(submission: RunSubmission): Promise<SubmitOutcome> {
    await this.#open()
    await this.#jobs.ensureLane(submission.lane)
    return this.#database.transaction(async (run) => {
      await this.#jobs.lockSessions(run, [encodeText(submission.sessionId)])
      const [row] = await run<RunRow>({
        name: 'capstan_submit',
        text: `insert into ${this.#schema}.queue_runs
            (run_id, session_id, tenant, tier, lane, priority, not_before, submission, digest, submitted_at, updated_at)
          values ($1, $2, $3, $4, $5, $6, $7, $8, $9, ${nowMs}, ${nowMs})
          on conflict (run_id) do nothing returning ${runColumns}`,
        values: [
          encodeText(submission.runId),
          encodeText(submission.sessionId),
          optional(submission.tenantId),
          optional(submission.tier),
          encodeText(submission.lane),
          clamped(submission.priority),
          submission.notBeforeMs ?? 0,
          JSON.stringify(submission),
          encodeText(submission.digest),
        ],
      })
      if (row === undefined) {
        const known = await this.#find(run, submission.runId, {})
        const isSame =
          known?.digest === encodeText(submission.digest) && known.tenant === optional(submission.tenantId)
        return known === undefined || !isSame
          ? { outcome: 'conflict' }
          : { outcome: 'known', run: runOf(known) }
      }
      await this.#jobs.advance(run, row.session_id)
      return { outcome: 'submitted', run: runOf(row) }
    })
  }

  async get(runId: string, scope: TenantScope = {}): Promise<QueuedRun | undefined> {
    await this.#open()
    const row = await this.#find((statement) => this.#database.query(statement), runId, scope)
    return row && runOf(row)
  }

  async list(filter: RunFilter = {}): Promise<RunPage> {
    await this.#open()
    const { sessionId, states, lane, limit = 100, cursor, tenantId } = filter
    const rows = await this.#database.query<RunRow>({
      name: 'capstan_list_runs',
      text: `select ${runColumns} from ${this.#schema}.queue_runs
        where ($1::text is null or tenant = $1) and ($2::text is null or session_id = $2)
          and ($3::text[] is null or state = any($3)) and ($4::text is null or lane = $4)
          and ($5::bigint is null or ord < $5)
        order by ord desc limit $6`,
      values: [
        optional(tenantId),
        optional(sessionId),
        states === undefined ? null : [...states],
        optional(lane),
        cursor === undefined ? null : Number(cursor),
        limit + 1,
      ],
    })
    const page = rows.slice(0, limit)
    return {
      runs: page.map(runOf),
      next: rows.length > limit ? String(page.at(-1)?.ord ?? 0) : undefined,
    }
  }

  async cancel(runId: string, scope: TenantScope = {}): Promise<CancelOutcome> {
    await this.#open()
    return this.#database.transaction(async (run) => {
      const row = await this.#lockRun(run, runId, scope)
      if (row === undefined) return 'unknown'
      if (!isOpenRun(row)) return 'ended'
      if (row.state === 'queued' && row.attempt === 0) {
        await this.#set(run, row, `state = 'cancelled', cancel_requested = true, job = null`)
        await this.#jobs.advance(run, row.session_id)
        return 'cancelled'
      }
      await this.#set(
        run,
        row,
        row.state === 'waiting'
          ? `state = 'queued', front = true, not_before = 0, cancel_requested = true`
          : 'cancel_requested = true',
      )
      if (row.state === 'active') await this.#notices.wake(run, 'cancel', row.node)
      await this.#jobs.advance(run, row.session_id)
      return 'requested'
    })
  }

  async post(
    runId: string,
    message: RunMessage,
    { wakes = false, ...scope }: TenantScope & { readonly wakes?: boolean | undefined } = {},
  ): Promise<PostOutcome> {
    await this.#open()
    return this.#database.transaction(async (run, attempt) => {
      const row = await this.#lockRun(run, runId, scope)
      if (row === undefined || !isOpenRun(row)) return 'ended'
      const added = await run({
        text: `insert into ${this.#schema}.queue_messages (run_id, id, body) values ($1, $2, $3)
          on conflict do nothing returning n`,
        values: [row.run_id, encodeText(message.id), JSON.stringify(message.body)],
      })
      if (wakes && row.state === 'waiting') {
        await this.#set(run, row, `state = 'queued', front = true, not_before = 0`)
        await this.#jobs.advance(run, row.session_id)
      } else if (row.state === 'active') await this.#notices.wake(run, 'messages', row.node)
      // An earlier attempt whose answer was lost may have added it.
      return added.length > 0 || attempt > 1 ? 'posted' : 'known'
    })
  }

  async redrive(runId: string, scope: TenantScope = {}): Promise<boolean> {
    await this.#open()
    return this.#database.transaction(async (run) => {
      const row = await this.#lockRun(run, runId, scope)
      if (row?.state !== 'dead' && row?.state !== 'failed') return false
      await this.#set(
        run,
        row,
        `state = 'queued', takeovers = 0, redrives = redrives + 1, cancel_requested = false, error = null, job = null`,
      )
      await this.#jobs.advance(run, row.session_id)
      return true
    })
  }

  async live(runId: string, from: number, scope: TenantScope = {}): Promise<readonly LiveEvent[]> {
    await this.#open()
    const rows = await this.#database.query<{ sequence: number; at_ms: number; event: string }>({
      name: 'capstan_live',
      text: `select e.sequence, e.at_ms, e.event from ${this.#schema}.queue_events e
          join ${this.#schema}.queue_runs r using (run_id)
        where e.run_id = $1 and e.sequence > $2 and ($3::text is null or r.tenant = $3) order by e.sequence`,
      values: [encodeText(runId), from, optional(scope.tenantId)],
    })
    return rows.map(({ sequence, at_ms: timestampMs, event }) => ({
      sequence,
      timestampMs,
      event: JSON.parse(event),
    }))
  }

  watch(runId: string, onChange: () => void): () => void {
    return this.#notices.watch(runId, onChange)
  }

  async count(name: string, add?: CounterAddition): Promise<CounterTotals> {
    await this.#open()
    return this.#counters.count(name, add)
  }

  async reserve(name: string, add: CounterAddition, limits: CounterLimits): Promise<Reservation> {
    await this.#open()
    return this.#counters.reserve(name, add, limits)
  }

  async removeEnded(retention: RunRetention): Promise<number> {
    await this.#open()
    return removeEnded(this.#database, this.#schema, retention)
  }

  async join(description: NodeDescription): Promise<QueueMember> {
    const boss = await this.#open()
    await this.#notices.start()
    const member: PostgresMember = new PostgresMember({
      description,
      database: this.#database,
      direct: this.#direct,
      schema: this.#schema,
      maxWaitMs: this.#maxWaitMs,
      boss,
      jobs: this.#jobs,
      changed: (runId) => this.#notices.markChanged(runId),
      left: () => {
        this.#members.delete(member)
        this.#notices.nodes.delete(member)
      },
    })
    await member.join()
    this.#members.add(member)
    this.#notices.nodes.add(member)
    return member
  }

  async drain(nodeId: string): Promise<boolean> {
    await this.#open()
    const id = Number(nodeId)
    if (!Number.isInteger(id)) return false
    return this.#database.transaction(async (run) => {
      const [node] = await run({
        text: `update ${this.#schema}.nodes set draining = true where id = $1 and details <> '{}' returning id`,
        values: [id],
      })
      if (node === undefined) return false
      await this.#notices.wake(run, 'drain', id)
      return true
    })
  }

  async status(): Promise<ClusterStatus> {
    await this.#open()
    return readStatus(this.#database, this.#schema)
  }

  close(): Promise<void> {
    this.#closing ??= keepingAlive(this.#close())
    return this.#closing
  }

  async #close(): Promise<void> {
    await Promise.allSettled([...this.#members].map((member) => member.leave()))
    await this.#notices.close()
    await Promise.all([this.#database.close(), this.#jobDatabase.close()])
  }

  #open(): Promise<PgBoss> {
    this.#opening ??= this.#start().catch((error: unknown) => {
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }

  async #start(): Promise<PgBoss> {
    await checkSchema(this.#database, this.#schemaName)
    return openJobs(this.#jobDatabase, this.#schemaName)
  }

  async #find(run: Run, runId: string, { tenantId }: TenantScope): Promise<RunRow | undefined> {
    const [row] = await run<RunRow>({
      name: 'capstan_find_run',
      text: `select ${runColumns} from ${this.#schema}.queue_runs where run_id = $1 and ($2::text is null or tenant = $2)`,
      values: [encodeText(runId), optional(tenantId)],
    })
    return row
  }

  /** Locks the session of a run and then reads the run. */
  async #lockRun(run: Run, runId: string, scope: TenantScope): Promise<RunRow | undefined> {
    const row = await this.#find(run, runId, scope)
    if (row === undefined) return undefined
    await this.#jobs.lockSessions(run, [row.session_id])
    const [locked] = await run<RunRow>({
      text: `select ${runColumns} from ${this.#schema}.queue_runs where run_id = $1 for update`,
      values: [row.run_id],
    })
    return locked
  }

  async #set(run: Run, row: RunRow, changes: string): Promise<void> {
    await run({
      text: `update ${this.#schema}.queue_runs set ${changes}, updated_at = ${nowMs} where run_id = $1`,
      values: [row.run_id],
    })
    this.#notices.markChanged(row.run_id)
  }
}

/** Short, because other nodes wait for the locks of a transaction of the queue. */
const maxPauseMs = 5_000
const maxPriority = 1_000_000

function clamped(priority: number): number {
  return Math.max(-maxPriority, Math.min(maxPriority, Math.trunc(priority)))
}

function optional(text: string | undefined): string | null {
  return text === undefined ? null : encodeText(text)
}
