import type { PgBoss } from 'pg-boss'
import type {
  ClaimOptions,
  LiveEvent,
  NodeDescription,
  QueueMember,
  RunClaim,
  RunMessage,
  Settlement,
  WakeReason,
} from '../run-queue/run-queue.js'
import type { Database, Run, Statement } from '../store/postgres/database.js'
import { type ConnectionOptions, keepingAlive } from '../store/postgres/driver.js'
import { expiredSeconds, silentSeconds } from '../store/postgres/leases.js'
import { lockSpace, noDetails, settleMs } from '../store/postgres/presence.js'
import { PresenceUse } from '../store/postgres/shared-presence.js'
import { decodeText, encodeText } from '../store/postgres/text.js'
import { claimRuns, lockClaims } from './claim-runs.js'
import type { LaneJobs } from './lane-jobs.js'
import { mustWait, nowMs, type RunRow, runColumns, runOf } from './run-rows.js'

export type MemberOptions = {
  readonly description: NodeDescription
  readonly database: Database
  readonly direct: ConnectionOptions
  readonly schema: string
  readonly maxWaitMs: number
  readonly boss: PgBoss
  readonly jobs: LaneJobs
  changed(runId: string): void
  left(): void
}

/** The membership of one node in a {@link PostgresRunQueue}. */
export class PostgresMember implements QueueMember {
  readonly #options: MemberOptions
  readonly #presence: PresenceUse
  readonly #listeners = new Set<(reason: WakeReason) => void>()
  /** The attempts of the runs that this node knows it has claimed. */
  readonly #claimed = new Map<string, number>()
  #isUnsure = false
  #sweep: NodeJS.Timeout | undefined
  #sweeping: Promise<void> = Promise.resolve()
  #sweepers = 1
  #leaving: Promise<void> | undefined

  constructor(options: MemberOptions) {
    this.#options = options
    this.#presence = new PresenceUse({
      connection: options.direct,
      schema: options.schema,
      maxWaitMs: options.maxWaitMs,
      details: this.#details,
    })
  }

  get #details(): string {
    return JSON.stringify(this.#options.description)
  }

  get nodeId(): string {
    return String(this.node)
  }

  get node(): number {
    return this.#presence.id ?? 0
  }

  async join(): Promise<void> {
    try {
      const id = await this.#presence.join()
      // The row may belong to a store in this process.
      await this.#options.database.query(this.#describe(id, this.#details))
    } catch (thrown) {
      await this.#presence.leave()
      throw thrown
    }
    this.#sweepLater()
  }

  wake(reason: WakeReason): void {
    if (reason === 'drain') this.#lookForDrain()
    else this.#call(reason)
  }

  #call(reason: WakeReason): void {
    for (const listener of [...this.#listeners]) listener(reason)
  }

  /** Checks the row of the node: only it decides whether the node must end. */
  #lookForDrain(): void {
    const { database, schema } = this.#options
    database.query<{ draining: boolean }>(draining(schema, this.node)).then(
      ([node]) => node?.draining === true && this.#call('drain'),
      // The next claim checks it too.
      () => undefined,
    )
  }

  onWake(listener: (reason: WakeReason) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async claim({ lanes, max, tenantLimits }: ClaimOptions): Promise<readonly RunClaim[]> {
    const { database, schema } = this.#options
    for (const lane of lanes) await this.#options.jobs.ensureLane(lane)
    const wasUnsure = this.#isUnsure
    // Set until the answer arrives: a claim whose answer is lost may have been made.
    this.#isUnsure = true
    const rows = await database.transaction(async (run, attempt) => {
      await lockClaims(run, schema)
      const [node] = await run<{ draining: boolean }>(draining(schema, this.node))
      // The notification may have been lost.
      if (node?.draining === true) setImmediate(() => this.#call('drain'))
      const taken = wasUnsure || attempt > 1 ? await this.#unknownClaims(run) : []
      if (node?.draining !== false) return taken
      const free = { lanes, max: max - taken.length, tenantLimits }
      const found = await claimRuns(run, { ...this.#options, node: this.node }, free)
      // Many jobs could not start, for example of cancelled runs: continue at once, so that other runs do not wait.
      if (found.hasMore) setImmediate(() => this.wake('work'))
      return [...taken, ...found.rows]
    })
    this.#isUnsure = false
    for (const { run_id: runId, attempt } of rows) {
      this.#claimed.set(runId, attempt)
      this.#options.changed(runId)
    }
    return rows.map((row) => ({ run: runOf(row), attempt: row.attempt }))
  }

  /** Returns runs that this node has claimed without receiving the answer. */
  async #unknownClaims(run: Run): Promise<RunRow[]> {
    const rows = await run<RunRow>({
      text: `select ${runColumns} from ${this.#options.schema}.queue_runs where state = 'active' and node = $1`,
      values: [this.node],
    })
    return rows.filter(({ run_id: runId, attempt }) => this.#claimed.get(runId) !== attempt)
  }

  async mark(
    claim: RunClaim,
    { position, takeovers }: { readonly position: number; readonly takeovers: number },
  ): Promise<boolean> {
    const { database, schema } = this.#options
    const rows = await database.query({
      name: 'capstan_mark',
      text: `update ${schema}.queue_runs set position = $4, takeovers = $5, updated_at = ${nowMs}
        where ${held} returning run_id`,
      values: [...this.#claimValues(claim), position, takeovers],
    })
    return rows.length > 0
  }

  async settle(claim: RunClaim, { state, error, wakeAtMs }: Settlement): Promise<boolean> {
    const { database, schema } = this.#options
    const sessionId = encodeText(claim.run.sessionId)
    const isSettled = await database.transaction(async (run, attempt) => {
      await this.#options.jobs.lockSessions(run, [sessionId])
      const [row] = await run<RunRow>({
        name: 'capstan_settle',
        text: `update ${schema}.queue_runs r set
            state = case when $4 = 'waiting' and (r.cancel_requested
              or exists (select 1 from ${schema}.queue_messages m where m.run_id = r.run_id)) then 'queued' else $4 end,
            not_before = $6, node = null, job = null, error = $5, updated_at = ${nowMs}
          where ${held} returning ${runColumns}`,
        values: [
          ...this.#claimValues(claim),
          state,
          error === undefined ? null : JSON.stringify(error),
          // For a waiting run: when it is queued without a message; 0 means never.
          state === 'waiting' ? Math.trunc(wakeAtMs ?? 0) : 0,
        ],
      })
      // An earlier attempt whose answer was lost may have settled it.
      if (row === undefined) return attempt > 1 && (await this.#wasSettled(run, claim))
      await run({
        text: `update ${schema}.queue_runs set front = (state = 'queued'),
          not_before = case state when 'waiting' then not_before else 0 end where run_id = $1`,
        values: [row.run_id],
      })
      if (row.state !== 'queued') {
        await run({ text: `delete from ${schema}.queue_events where run_id = $1`, values: [row.run_id] })
        if (row.state !== 'waiting')
          await run({ text: `delete from ${schema}.queue_messages where run_id = $1`, values: [row.run_id] })
      }
      await this.#options.jobs.advance(run, sessionId)
      return true
    })
    this.#forget(claim)
    if (isSettled) this.#options.changed(encodeText(claim.run.runId))
    return isSettled
  }

  async inspect(claim: RunClaim) {
    const { database, schema } = this.#options
    const rows = await database.query<{ cancel_requested: boolean; id: string | null; body: string }>({
      name: 'capstan_inspect',
      text: `select r.cancel_requested, m.id, m.body
        from ${schema}.queue_runs r left join ${schema}.queue_messages m using (run_id)
        where ${held} order by m.n`,
      values: this.#claimValues(claim),
    })
    const [first] = rows
    if (first === undefined) {
      this.#forget(claim)
      return undefined
    }
    const messages: RunMessage[] = rows.flatMap(({ id, body }) =>
      id === null ? [] : [{ id: decodeText(id), body: JSON.parse(body) }],
    )
    return { cancelRequested: first.cancel_requested, messages }
  }

  async acknowledge(claim: RunClaim, messageIds: readonly string[]): Promise<void> {
    const { database, schema } = this.#options
    await database.query({
      text: `delete from ${schema}.queue_messages m using ${schema}.queue_runs r
        where m.run_id = r.run_id and m.id = any($4::text[]) and ${held.replaceAll('run_id', 'r.run_id')}`,
      values: [...this.#claimValues(claim), messageIds.map(encodeText)],
    })
  }

  async publish(claim: RunClaim, events: readonly LiveEvent[]): Promise<void> {
    const { database, schema } = this.#options
    if (events.length === 0) return
    await database.query({
      name: 'capstan_publish',
      text: `insert into ${schema}.queue_events (run_id, sequence, at_ms, event)
        select r.run_id, e.* from ${schema}.queue_runs r,
          unnest($4::float8[], $5::float8[], string_to_array($6::text, E'\\n')) as e
        where ${held} on conflict do nothing`,
      values: [
        ...this.#claimValues(claim),
        events.map(({ sequence }) => sequence),
        events.map(({ timestampMs }) => timestampMs),
        events.map(({ event }) => JSON.stringify(event)).join('\n'),
      ],
    })
    this.#options.changed(encodeText(claim.run.runId))
  }

  leave(): Promise<void> {
    this.#leaving ??= keepingAlive(this.#leave())
    return this.#leaving
  }

  async #leave(): Promise<void> {
    clearTimeout(this.#sweep)
    await this.#sweeping
    this.#listeners.clear()
    const { database, schema } = this.#options
    const { node } = this
    try {
      await database.transaction(async (run) => {
        await lockClaims(run, schema)
        await this.#takeOver(run, [node])
        await run(this.#describe(node, noDetails))
      })
    } catch (thrown) {
      // Node 0 does not exist, so other nodes take these runs over.
      this.#presence.defer({
        text: `update ${schema}.queue_runs set node = 0 where state = 'active' and node = $1`,
        values: [node],
      })
      this.#presence.defer(this.#describe(node, noDetails))
      throw thrown
    } finally {
      await this.#presence.leave()
      this.#options.left()
    }
  }

  /** Sets the details of a node that other processes see. */
  #describe(node: number, details: string): Statement {
    return {
      text: `update ${this.#options.schema}.nodes set details = $2, draining = false where id = $1 and details <> $2`,
      values: [node, details],
    }
  }

  async #wasSettled(run: Run, claim: RunClaim): Promise<boolean> {
    const [row] = await run({
      text: `select 1 from ${this.#options.schema}.queue_runs
        where run_id = $1 and attempt = $2 and state <> 'active'`,
      values: [encodeText(claim.run.runId), claim.attempt],
    })
    return row !== undefined
  }

  #forget({ run, attempt }: RunClaim): void {
    const runId = encodeText(run.runId)
    if (this.#claimed.get(runId) === attempt) this.#claimed.delete(runId)
  }

  #claimValues({ run, attempt }: RunClaim): unknown[] {
    return [encodeText(run.runId), attempt, this.node]
  }

  #sweepLater(): void {
    if (this.#leaving !== undefined) return
    this.#sweep = setTimeout(() => {
      this.#sweeping = this.#sweepNow()
        .catch(() => {
          // The database cannot be reached; the next sweep tries again.
        })
        .then(() => this.#sweepLater())
    }, this.#sweepAfterMs()).unref()
  }

  /** All nodes together sweep at the same rate, regardless of their number, and not at the same moment. */
  #sweepAfterMs(): number {
    return sweepEveryMs * Math.min(20, Math.max(1, this.#sweepers / 8)) * (0.75 + Math.random() / 2)
  }

  /** Takes over the runs of nodes that have ended, and creates jobs for runs without one. */
  async #sweepNow(): Promise<void> {
    const { database, schema } = this.#options
    if (!this.#presence.canJudge) return
    // One statement, because every node runs it. Runs that wait for a user are queued when their wait has expired.
    const [found] = await database.query<{ nodes: number; is_silent: boolean; is_parked: boolean }>({
      name: 'capstan_sweep',
      text: `with woken as (
          update ${schema}.queue_runs set state = 'queued', front = true, not_before = 0, updated_at = ${nowMs}
          where state = 'waiting' and not_before between 1 and ${nowMs} returning 1
        )
        select (select count(*) from ${schema}.nodes)::float8 as nodes,
          (exists (select 1 from ${schema}.nodes where id <> $1 and ${isSilent})
            or exists (select 1 from ${schema}.queue_runs r where ${isOrphan(schema)}))
            and clock_timestamp() - pg_postmaster_start_time() > interval '${settleMs} ms' as is_silent,
          exists (select 1 from woken)
            or exists (select 1 from ${schema}.queue_runs r where ${isParked(schema)}) as is_parked`,
      values: [this.node],
    })
    if (found === undefined) return
    this.#sweepers = found.nodes
    if (!found.is_silent && !found.is_parked) return
    await database.transaction(async (run) => {
      await lockClaims(run, schema)
      if (found.is_silent) await this.#removeSilent(run)
      if (found.is_parked) await this.#unpark(run)
    })
  }

  async #removeSilent(run: Run): Promise<void> {
    const { schema } = this.#options
    const ended = await run<{ id: number }>({
      text: `delete from ${schema}.nodes where id in (
          select id from ${schema}.nodes where id <> $1 and ${isSilent}
            and (seen_at < clock_timestamp() - interval '${expiredSeconds} s'
              or pg_try_advisory_xact_lock(${lockSpace(schema)}, id))
          for update skip locked)
        returning id`,
      values: [this.node],
    })
    const orphans = await run<{ node: number }>({
      text: `select distinct node from ${schema}.queue_runs r where ${isOrphan(schema)}`,
    })
    await this.#takeOver(run, [...ended.map(({ id }) => id), ...orphans.map(({ node }) => node)])
  }

  async #takeOver(run: Run, nodes: readonly number[]): Promise<void> {
    if (nodes.length === 0) return
    const { schema } = this.#options
    const rows = await run<RunRow>({
      text: `update ${schema}.queue_runs set state = 'queued', front = true, node = null, job = null,
          takeovers = takeovers + 1, updated_at = ${nowMs}
        where state = 'active' and node = any($1::integer[]) returning ${runColumns}`,
      values: [[...nodes]],
    })
    if (rows.length === 0) return
    await this.#options.jobs.send(run, rows)
    for (const row of rows) this.#options.changed(row.run_id)
    await run({
      text: `insert into ${schema}.counters as c (name, tokens) values ('capstan:takeovers', $1)
        on conflict (name) do update set tokens = c.tokens + excluded.tokens`,
      values: [rows.length],
    })
  }

  /** Creates jobs for runs that could start and have none, such as those whose wait for a user has expired. */
  async #unpark(run: Run): Promise<void> {
    const { schema } = this.#options
    const rows = await run<{ session_id: string }>({
      text: `select distinct r.session_id from ${schema}.queue_runs r
        where ${isParked(schema)} limit 100`,
    })
    for (const { session_id: sessionId } of rows) {
      await this.#options.jobs.lockSessions(run, [sessionId])
      await this.#options.jobs.advance(run, sessionId)
    }
  }
}

function draining(schema: string, node: number): Statement {
  return { text: `select draining from ${schema}.nodes where id = $1`, values: [node] }
}

/** Matches the claim with the run, attempt and node of the first three parameters. */
const held = `run_id = $1 and attempt = $2 and node = $3 and state = 'active'`
/** Matches an active run whose node has no row: the node has ended and could not release the run. */
function isOrphan(schema: string): string {
  return `r.state = 'active' and not exists (select 1 from ${schema}.nodes n where n.id = r.node)`
}

/** Matches a run that could start, or is not due yet, and has no job. */
function isParked(schema: string): string {
  return `r.state = 'queued' and r.job is null and (r.not_before > ${nowMs} or not ${mustWait(schema)})`
}

const isSilent = `seen_at < clock_timestamp() - interval '${silentSeconds} s'`
const sweepEveryMs = 400
