import { randomUUID } from 'node:crypto'
import type { JobInsert, PgBoss } from 'pg-boss'
import type {
  CancelOutcome,
  ClusterStatus,
  CounterTotals,
  LiveEvent,
  NodeDescription,
  PostOutcome,
  QueuedRun,
  QueueMember,
  RunFilter,
  RunMessage,
  RunPage,
  RunQueue,
  RunSubmission,
  SubmitOutcome,
  TenantScope,
  WakeReason,
} from '../run-queue/run-queue.js'
import { isOpenRun } from '../run-queue/run-queue.js'
import { Database, type Run } from '../store/postgres/database.js'
import { type ConnectionOptions, keepingAlive } from '../store/postgres/driver.js'
import { inTransaction, openJobs } from '../store/postgres/jobs.js'
import { checkSchema, quoted } from '../store/postgres/schema.js'
import { decodeText, encodeText } from '../store/postgres/text.js'
import { Listener } from './listener.js'
import { PostgresMember } from './member.js'
import { groupOf, jobQueueOf, nowMs, type RunRow, runColumns, runOf } from './run-rows.js'

/** The settings of a {@link PostgresRunQueue}. */
export type PostgresRunQueueOptions = {
  /** The database: `postgres://user:password@host:5432/name`. */
  readonly url: string
  /** The same database without a pooler in between. Needed when `url` leads to PgBouncer in transaction mode. */
  readonly directUrl?: string | undefined
  /** The schema of the tables. Default: `capstan`. */
  readonly schema?: string | undefined
  /**
   * The maximum number of connections, without those for notifications and for a node. Default: 4. A session store with
   * the same URL and schema in this process uses the same connections.
   */
  readonly pool?: number | undefined
  /** Whether statements are prepared on their connections. Default: true, and false with a `directUrl`. */
  readonly prepare?: boolean | undefined
  /** How long an operation waits for a database that cannot be reached. Default: 60,000 ms. */
  readonly maxWaitMs?: number | undefined
}

/**
 * A queue of runs in a Postgres database, for any number of nodes. Needs the packages `pg` and `pg-boss`; `migrate`
 * creates the tables.
 *
 * A run has a row, which is the truth about its state, and a job of pg-boss while it can be claimed. pg-boss selects
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
  /** For what pg-boss reads by itself: a transaction that waits for it must not wait for its own pool. */
  readonly #jobDatabase: Database
  readonly #listener: Listener
  readonly #members = new Set<PostgresMember>()
  readonly #watchers = new Map<string, Set<() => void>>()
  readonly #lanes = new Map<string, Promise<void>>()
  readonly #changed = new Set<string>()
  #opening: Promise<PgBoss> | undefined
  #notifying: NodeJS.Timeout | undefined
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
    this.#listener = new Listener({
      connection: this.#direct,
      channel: this.#channel,
      onMessage: (payload) => this.#receive(payload),
      onMissed: () => this.#receive('all'),
    })
  }

  async submit(submission: RunSubmission): Promise<SubmitOutcome> {
    const boss = await this.#open()
    await this.#ensureLane(boss, submission.lane)
    return this.#database.transaction(async (run) => {
      await this.#lockSessions(run, [encodeText(submission.sessionId)])
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
      await this.#advance(run, boss, row.session_id)
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
    const boss = await this.#open()
    return this.#database.transaction(async (run) => {
      const row = await this.#lockRun(run, runId, scope)
      if (row === undefined) return 'unknown'
      if (!isOpenRun(row)) return 'ended'
      if (row.state === 'queued' && row.attempt === 0) {
        await this.#set(run, row, `state = 'cancelled', cancel_requested = true, job = null`)
        await this.#advance(run, boss, row.session_id)
        return 'cancelled'
      }
      await this.#set(
        run,
        row,
        row.state === 'waiting'
          ? `state = 'queued', front = true, not_before = 0, cancel_requested = true`
          : 'cancel_requested = true',
      )
      if (row.state === 'active') await this.#notify(run, { node: row.node, reason: 'cancel' })
      await this.#advance(run, boss, row.session_id)
      return 'requested'
    })
  }

  async post(
    runId: string,
    message: RunMessage,
    { wakes = false, ...scope }: TenantScope & { readonly wakes?: boolean | undefined } = {},
  ): Promise<PostOutcome> {
    const boss = await this.#open()
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
        await this.#advance(run, boss, row.session_id)
      } else if (row.state === 'active') await this.#notify(run, { node: row.node, reason: 'messages' })
      // An earlier attempt, whose answer was lost, may have added it.
      return added.length > 0 || attempt > 1 ? 'posted' : 'known'
    })
  }

  async redrive(runId: string, scope: TenantScope = {}): Promise<boolean> {
    const boss = await this.#open()
    return this.#database.transaction(async (run) => {
      const row = await this.#lockRun(run, runId, scope)
      if (row?.state !== 'dead' && row?.state !== 'failed') return false
      await this.#set(
        run,
        row,
        `state = 'queued', takeovers = 0, cancel_requested = false, error = null, job = null`,
      )
      await this.#advance(run, boss, row.session_id)
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
    const watchers = this.#watchers.get(runId) ?? new Set()
    this.#watchers.set(runId, watchers)
    watchers.add(onChange)
    void this.#listener.start()
    return () => {
      watchers.delete(onChange)
      if (watchers.size === 0 && this.#watchers.get(runId) === watchers) this.#watchers.delete(runId)
    }
  }

  async count(name: string, add?: CounterTotals & { readonly id: string }): Promise<CounterTotals> {
    await this.#open()
    const [row] = await this.#database.query<{ tokens: number; cost_usd: number }>(
      add === undefined
        ? {
            text: `select tokens, cost_usd from ${this.#schema}.counters where name = $1`,
            values: [encodeText(name)],
          }
        : {
            text: addition(this.#schema),
            values: [encodeText(name), add.tokens, add.costUsd, encodeText(`${additionPrefix}${add.id}`)],
          },
    )
    if (add !== undefined && Math.random() < 1 / forgetEvery) await this.#forgetAdditions()
    return { tokens: row?.tokens ?? 0, costUsd: row?.cost_usd ?? 0 }
  }

  /** Additions are only remembered for as long as their answer can be lost. */
  async #forgetAdditions(): Promise<void> {
    await this.#database.query({
      text: `delete from ${this.#schema}.counters where name >= $1 and name < $2
        and tokens < ${nowMs} - ${10 * 60_000}`,
      values: [additionPrefix, `${additionPrefix.slice(0, -1)};`],
    })
  }

  async join(description: NodeDescription): Promise<QueueMember> {
    const boss = await this.#open()
    await this.#listener.start()
    const member: PostgresMember = new PostgresMember({
      description,
      database: this.#database,
      direct: this.#direct,
      schema: this.#schema,
      maxWaitMs: this.#maxWaitMs,
      boss,
      ensureLane: (lane) => this.#ensureLane(boss, lane),
      lockSessions: (run, sessionIds) => this.#lockSessions(run, sessionIds),
      advance: (run, sessionId) => this.#advance(run, boss, sessionId),
      send: (run, rows) => this.#send(run, boss, rows),
      changed: (runId) => this.#markChanged(runId),
      left: () => this.#members.delete(member),
    })
    await member.join()
    this.#members.add(member)
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
      await this.#notify(run, { node: id, reason: 'drain' })
      return true
    })
  }

  async status(): Promise<ClusterStatus> {
    await this.#open()
    const nodes = await this.#database.query<{
      id: number
      details: string
      started: number
      seen: number
      draining: boolean
      active: number
    }>({
      text: `select n.id, n.details, n.draining, extract(epoch from n.started_at)::float8 * 1000 as started,
          extract(epoch from n.seen_at)::float8 * 1000 as seen,
          (select count(*) from ${this.#schema}.queue_runs r where r.node = n.id and r.state = 'active')::float8 as active
        from ${this.#schema}.nodes n where n.details <> '{}' order by n.id`,
    })
    const lanes = await this.#database.query<{
      lane: string
      queued: number
      active: number
      oldest: number | null
    }>({
      text: `select lane, count(*) filter (where state = 'queued')::float8 as queued,
          count(*) filter (where state = 'active')::float8 as active,
          (${nowMs} - min(greatest(submitted_at, not_before)) filter (where state = 'queued' and not_before <= ${nowMs}))::float8 as oldest
        from ${this.#schema}.queue_runs where state in ('queued', 'active') group by lane order by lane`,
    })
    const totals = new Map(
      (
        await this.#database.query<{ state: string; total: number }>({
          text: `select state, count(*)::float8 as total from ${this.#schema}.queue_runs
              where state not in ('queued', 'active') group by state
            union all select 'takeovers', tokens from ${this.#schema}.counters where name = 'capstan:takeovers'`,
        })
      ).map(({ state, total }) => [state, total]),
    )
    const total = (name: string): number => totals.get(name) ?? 0
    return {
      nodes: nodes.map(({ id, details, started, seen, draining, active }) => ({
        ...(JSON.parse(details) as NodeDescription),
        id: String(id),
        startedAtMs: Math.round(started),
        seenAtMs: Math.round(seen),
        active,
        isDraining: draining,
      })),
      lanes: lanes.map(({ lane, queued, active, oldest }) => ({
        lane: decodeText(lane),
        queued,
        active,
        oldestWaitMs: Math.max(0, oldest ?? 0),
      })),
      waiting: total('waiting'),
      dead: total('dead'),
      ended: { completed: total('completed'), failed: total('failed'), cancelled: total('cancelled') },
      takeovers: total('takeovers'),
    }
  }

  close(): Promise<void> {
    this.#closing ??= keepingAlive(this.#close())
    return this.#closing
  }

  async #close(): Promise<void> {
    clearTimeout(this.#notifying)
    await Promise.allSettled([...this.#members].map((member) => member.leave()))
    await this.#listener.close()
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

  /** Creates the queue of a lane in pg-boss, once per process. */
  #ensureLane(boss: PgBoss, lane: string): Promise<void> {
    const known = this.#lanes.get(lane)
    if (known !== undefined) return known
    const created = createLane(boss, jobQueueOf(lane)).catch((error: unknown) => {
      this.#lanes.delete(lane)
      throw error
    })
    this.#lanes.set(lane, created)
    return created
  }

  /** One transaction at a time decides which run of a session is next. */
  async #lockSessions(run: Run, sessionIds: readonly string[]): Promise<void> {
    await run({
      name: 'capstan_lock_sessions',
      text: `select pg_advisory_xact_lock(hashtext('capstan session ${this.#schemaName}'), hashtext(id))
        from unnest($1::text[]) as id`,
      values: [[...sessionIds]],
    })
  }

  /**
   * Gives a job to the first run of a session, if it can be claimed; and to those that are not due yet, which wait in
   * pg-boss for their time. Runs in a transaction that has locked the session.
   */
  async #advance(run: Run, boss: PgBoss, sessionId: string): Promise<void> {
    const rows = await run<RunRow>({
      name: 'capstan_next_runs',
      text: `select ${runColumns} from ((
          select * from ${this.#schema}.queue_runs
          where session_id = $1 and (state in ('active', 'waiting') or (state = 'queued' and not_before <= ${nowMs}))
          order by (state <> 'queued' or front) desc, ord limit 1
        ) union all (
          select * from ${this.#schema}.queue_runs
          where session_id = $1 and state = 'queued' and not_before > ${nowMs} and job is null order by ord limit 100
        )) as next`,
      values: [sessionId],
    })
    const ready = rows.filter(({ state, job }) => state === 'queued' && job === null)
    await this.#send(run, boss, ready)
  }

  /** Sends the jobs of runs, and wakes the nodes. */
  async #send(run: Run, boss: PgBoss, rows: readonly RunRow[]): Promise<void> {
    if (rows.length === 0) return
    const sent = rows.toSorted((a, b) => a.ord - b.ord).map((row) => ({ row, job: randomUUID() }))
    for (const lane of new Set(rows.map((row) => row.lane)))
      await boss.insert(
        jobQueueOf(decodeText(lane)),
        sent.filter(({ row }) => row.lane === lane).map(({ row, job }) => jobOf(row, job)),
        { db: inTransaction(run) },
      )
    await run({
      name: 'capstan_sent',
      text: `update ${this.#schema}.queue_runs r set job = sent.job
        from unnest($1::text[], $2::uuid[]) as sent (run_id, job) where r.run_id = sent.run_id`,
      values: [sent.map(({ row }) => row.run_id), sent.map(({ job }) => job)],
    })
    await this.#notify(run, { reason: 'work' })
  }

  async #find(run: Run, runId: string, { tenantId }: TenantScope): Promise<RunRow | undefined> {
    const [row] = await run<RunRow>({
      name: 'capstan_find_run',
      text: `select ${runColumns} from ${this.#schema}.queue_runs where run_id = $1 and ($2::text is null or tenant = $2)`,
      values: [encodeText(runId), optional(tenantId)],
    })
    return row
  }

  /** Locks the session of a run, then reads the run. */
  async #lockRun(run: Run, runId: string, scope: TenantScope): Promise<RunRow | undefined> {
    const row = await this.#find(run, runId, scope)
    if (row === undefined) return undefined
    await this.#lockSessions(run, [row.session_id])
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
    this.#markChanged(row.run_id)
  }

  get #channel(): string {
    return `capstan_${this.#schemaName}`
  }

  async #notify(run: Run, message: Notice): Promise<void> {
    await run({ text: 'select pg_notify($1, $2)', values: [this.#channel, JSON.stringify(message)] })
  }

  /** Announces that a run has new events or another state: at most once in 10 ms, for all runs together. */
  #markChanged(runId: string): void {
    this.#changed.add(runId)
    this.#notifying ??= setTimeout(() => {
      this.#notifying = undefined
      const runs = [...this.#changed]
      this.#changed.clear()
      const payload = JSON.stringify({ runs })
      const short = Buffer.byteLength(payload) < maxPayload ? payload : 'all'
      this.#database
        .query({ text: 'select pg_notify($1, $2)', values: [this.#channel, short] }, 0)
        .catch(() => {
          // Readers look from time to time.
        })
    }, notifyAfterMs).unref()
  }

  #receive(payload: string): void {
    const { runs, node, reason }: Notice & { runs?: readonly string[] } =
      payload === 'all' ? {} : JSON.parse(payload)
    if (payload === 'all') {
      for (const watchers of this.#watchers.values()) for (const watcher of [...watchers]) watcher()
      for (const member of this.#members) for (const each of wakeReasons) member.wake(each)
    }
    for (const runId of runs ?? [])
      for (const watcher of [...(this.#watchers.get(decodeText(runId)) ?? [])]) watcher()
    if (reason !== undefined)
      for (const member of this.#members) if (node === undefined || node === member.node) member.wake(reason)
  }
}

type Notice = { readonly node?: number | null | undefined; readonly reason?: WakeReason | undefined }

/** After a gap a node looks at everything but `drain`, which it finds when it claims. */
const wakeReasons: readonly WakeReason[] = ['work', 'messages', 'cancel']
const notifyAfterMs = 10
/** Other nodes wait for the locks of a transaction of the queue. */
const maxPauseMs = 5_000
/** Postgres accepts less than 8,000 bytes. */
const maxPayload = 7_900
/** Runs that had a slot before come first. */
const frontPriority = 1_000_000_000
const maxPriority = 1_000_000

/** The names of additions to counters, which are counters themselves: their sum is the time at which they were made. */
const additionPrefix = 'capstan:added:'
const forgetEvery = 100

/**
 * Adds to a counter unless the addition of this id was made. A statement sees the rows as they were when it began, so
 * the first of two that run at the same time is read by the second only through its row of the addition.
 */
function addition(schema: string): string {
  return `with added as (
      insert into ${schema}.counters (name, tokens) values ($4, ${nowMs}) on conflict do nothing returning 1
    ), changed as (
      insert into ${schema}.counters as c (name, tokens, cost_usd)
        values ($1, case when exists (select 1 from added) then $2::float8 else 0 end,
          case when exists (select 1 from added) then $3::float8 else 0 end)
      on conflict (name) do update set tokens = c.tokens + excluded.tokens, cost_usd = c.cost_usd + excluded.cost_usd
      returning tokens, cost_usd
    )
    select tokens, cost_usd from changed`
}

/** A job is deleted when it is claimed, so pg-boss has nothing to retry, expire or clean up. */
const laneOptions = { retryLimit: 0, retentionSeconds: 10 * 365 * 24 * 3_600 } as const

/**
 * Creates the queue of a lane, and lets pg-boss read about it: later it would do so on a second connection, in the
 * middle of a transaction. With a pooler, transactions that wait for each other's connections never end.
 */
async function createLane(boss: PgBoss, name: string): Promise<void> {
  await boss.createQueue(name, laneOptions)
  await boss.findJobs(name, { id: randomUUID() })
}

/** The job of a run that waits. */
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

function clamped(priority: number): number {
  return Math.max(-maxPriority, Math.min(maxPriority, Math.trunc(priority)))
}

function optional(text: string | undefined): string | null {
  return text === undefined ? null : encodeText(text)
}
