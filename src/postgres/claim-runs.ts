import type { PgBoss } from 'pg-boss'
import type { ClaimOptions, TenantLimits } from '../run-queue/run-queue.js'
import type { Run } from '../store/postgres/database.js'
import { inTransaction } from '../store/postgres/jobs.js'
import { decodeText, encodeText } from '../store/postgres/text.js'
import type { LaneJobs } from './lane-jobs.js'
import { groupOf, jobQueueOf, mustWait, nowMs, type RunRow, runColumns } from './run-rows.js'

/** The claiming node and its queue. */
export type ClaimPlace = {
  readonly node: number
  readonly schema: string
  readonly boss: PgBoss
  readonly jobs: Pick<LaneJobs, 'lockSessions'>
}

/**
 * Claims runs for a node, in a transaction that has called {@link lockClaims}. Every other node waits for that lock, so
 * all runs are claimed with the same few statements; only a tenant at its limit costs more of them.
 *
 * @returns the runs; `hasMore` when it stopped because many jobs could not start
 */
export async function claimRuns(
  run: Run,
  place: ClaimPlace,
  { lanes, max, tenantLimits }: ClaimOptions,
): Promise<{ readonly rows: readonly RunRow[]; readonly hasMore: boolean }> {
  const limits = await Limits.read(run, place.schema, tenantLimits)
  const rows: RunRow[] = []
  let skipped = 0
  for (const lane of lanes) {
    const queue = jobQueueOf(lane)
    let size = max - rows.length
    while (size > 0 && skipped < maxSkipped) {
      if (tenantLimits !== undefined) await run({ text: 'savepoint fetched' })
      const { jobs, ready } = await fetchJobs(run, place, queue, size, limits)
      if (jobs.length === 0) break
      const fitting = limits.fitting(ready)
      const [over] = ready.slice(fitting)
      if (over !== undefined) {
        // A tenant is at its limit: the jobs are put back, and those before it are fetched again.
        await run({ text: 'rollback to savepoint fetched' })
        if (fitting === 0) limits.leaveOut(over)
        skipped += Number(fitting === 0)
        size = Math.max(1, fitting)
        continue
      }
      const claimed = await claimJobs(run, place, queue, jobs, ready)
      for (const row of claimed) limits.count(row)
      rows.push(...claimed)
      skipped += jobs.length - claimed.length
      if (jobs.length < size) break
      size = max - rows.length
    }
  }
  return { rows, hasMore: skipped >= maxSkipped }
}

/** Allows one transaction at a time to claim and take over, so that no limit is exceeded. */
export async function lockClaims(run: Run, schema: string): Promise<void> {
  await run({
    name: 'capstan_lock_claims',
    text: `select pg_advisory_xact_lock(hashtext('capstan claims'), hashtext($1))`,
    values: [schema],
  })
}

/** How many jobs that cannot start are examined in one transaction. */
const maxSkipped = 100

/** Fetches jobs of a lane. `ready`: their runs that wait for exactly that job, in the order in which they start. */
async function fetchJobs(
  run: Run,
  { boss, schema }: ClaimPlace,
  queue: string,
  size: number,
  limits: Limits,
) {
  const jobs = await boss.fetch<{ runId: string }>(queue, {
    batchSize: size,
    ...(limits.full.length > 0 && { ignoreGroups: limits.full }),
    db: inTransaction(run),
  })
  if (jobs.length === 0) return { jobs: [], ready: [] }
  const rows = await run<RunRow>({
    name: 'capstan_fetched',
    text: `select ${runColumns} from ${schema}.queue_runs where run_id = any($1::text[])
      order by front desc, priority desc, ord`,
    values: [jobs.map(({ data }) => data.runId)],
  })
  const ids = jobs.map(({ id }) => id)
  // The other runs were cancelled, or got another job, after theirs was sent.
  const ready = rows.filter(({ state, job }) => state === 'queued' && job !== null && ids.includes(job))
  return { jobs: ids, ready }
}

/** Assigns the runs of jobs to the node, unless another run of the session comes first. The jobs are deleted. */
async function claimJobs(
  run: Run,
  { boss, schema, node, jobs: lanes }: ClaimPlace,
  queue: string,
  jobs: readonly string[],
  ready: readonly RunRow[],
): Promise<readonly RunRow[]> {
  await boss.deleteJob(queue, [...jobs], { db: inTransaction(run) })
  if (ready.length === 0) return []
  await lanes.lockSessions(run, [...new Set(ready.map(({ session_id: sessionId }) => sessionId))])
  const runIds = ready.map(({ run_id: runId }) => runId)
  const claimed = await run<RunRow>({
    name: 'capstan_claim',
    text: `update ${schema}.queue_runs r set state = 'active', node = $3, attempt = attempt + 1, job = null,
        front = false, updated_at = ${nowMs}
      where run_id = any($1::text[]) and job = any($2::uuid[]) and state = 'queued' and not ${mustWait(schema)}
      returning ${runColumns}`,
    values: [runIds, jobs, node],
  })
  // Another run of the session comes first; when it ends, the next run gets a job.
  if (claimed.length < ready.length)
    await run({
      text: `update ${schema}.queue_runs set job = null where run_id = any($1::text[]) and job = any($2::uuid[])`,
      values: [runIds, jobs],
    })
  return claimed.toSorted((a, b) => runIds.indexOf(a.run_id) - runIds.indexOf(b.run_id))
}

/** Counts the active runs of each tenant, and lists the groups that are at their limit. */
class Limits {
  readonly full: string[] = []
  readonly #limits: TenantLimits | undefined
  readonly #active: Map<string, number>

  private constructor(limits: TenantLimits | undefined, active: Map<string, number>) {
    this.#limits = limits
    this.#active = active
  }

  static async read(run: Run, schema: string, limits: TenantLimits | undefined): Promise<Limits> {
    if (limits === undefined) return new Limits(limits, new Map())
    const rows = await run<{ tenant: string; active: number }>({
      name: 'capstan_active_of_tenants',
      text: `select tenant, count(*)::float8 as active from ${schema}.queue_runs
        where state = 'active' and tenant is not null group by tenant`,
    })
    const made = new Limits(limits, new Map(rows.map(({ tenant, active }) => [tenant, active])))
    for (const tenant of made.#active.keys()) made.#fill(tenant)
    return made
  }

  /** Returns how many of the first runs can start together. */
  fitting(rows: readonly RunRow[]): number {
    const active = new Map(this.#active)
    const over = rows.findIndex(({ tenant, tier }) => {
      if (tenant === null) return false
      const count = (active.get(tenant) ?? 0) + 1
      active.set(tenant, count)
      return count > this.#limitOf(tier)
    })
    return over < 0 ? rows.length : over
  }

  count({ tenant }: RunRow): void {
    if (tenant === null) return
    this.#active.set(tenant, (this.#active.get(tenant) ?? 0) + 1)
    this.#fill(tenant)
  }

  /** Excludes the group of this run from now on. */
  leaveOut(row: Pick<RunRow, 'tenant' | 'tier'>): void {
    const group = groupOf(row)
    if (group !== undefined) this.full.push(group)
  }

  #fill(tenant: string): void {
    for (const tier of [null, ...Object.keys(this.#limits?.tiers ?? {}).map(encodeText)])
      if ((this.#active.get(tenant) ?? 0) >= this.#limitOf(tier)) this.leaveOut({ tenant, tier })
  }

  #limitOf(tier: string | null): number {
    const { tiers = {}, default: fallback = Number.POSITIVE_INFINITY } = this.#limits ?? {}
    const name = tier === null ? undefined : decodeText(tier)
    return name !== undefined && Object.hasOwn(tiers, name) ? (tiers[name] ?? fallback) : fallback
  }
}
