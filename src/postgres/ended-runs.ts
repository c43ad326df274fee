import { counterDays } from '../run-queue/counter-period.js'
import { minRetentionMs, type RunRetention } from '../run-queue/run-queue.js'
import type { Database } from '../store/postgres/database.js'
import { nowMs } from './run-rows.js'

/** Removes some of the ended runs, and the tenants' counters of past periods. Any node can do it. */
export async function removeEnded(
  database: Database,
  schema: string,
  { maxAgeMs, maxRuns }: RunRetention,
): Promise<number> {
  await database.query({
    text: `delete from ${schema}.counters where name like 'tenant/%'
      and substring(name from '/(\\d{4}-\\d{2}(?:-\\d{2})?)$')
        < to_char((clock_timestamp() - interval '${counterDays} days') at time zone 'UTC', 'YYYY-MM-DD')`,
  })
  const [row] = await database.query<{ removed: number }>({
    name: 'capstan_remove_ended',
    // Locked rows are skipped: another transaction may be queueing the run again.
    text: `with surplus as (
        select updated_at from ${schema}.queue_runs where ${isOver} order by updated_at desc offset $2 limit 1
      ), old as (
        select ord from ${schema}.queue_runs
        where updated_at < ${nowMs} - ${minRetentionMs}
          and ((${isEnded} and updated_at < ${nowMs} - $1::bigint)
            or (${isOver} and updated_at <= (select updated_at from surplus)))
        order by updated_at limit ${batch} for update skip locked
      ), gone as (
        delete from ${schema}.queue_runs where ord in (select ord from old) returning run_id
      ), messages as (
        delete from ${schema}.queue_messages where run_id in (select run_id from gone)
      ), events as (
        delete from ${schema}.queue_events where run_id in (select run_id from gone)
      )
      select count(*)::float8 as removed from gone`,
    values: [Math.trunc(maxAgeMs), maxRuns],
  })
  return row?.removed ?? 0
}

/** The states of the index `queue_runs_ended`. */
const isEnded = `state in ('completed', 'failed', 'cancelled', 'dead')`
const isOver = `state in ('completed', 'failed', 'cancelled')`
/** A limit, so that no transaction holds many rows for long. */
const batch = 1_000
