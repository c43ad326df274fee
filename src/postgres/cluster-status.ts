import type { ClusterStatus, NodeDescription } from '../run-queue/run-queue.js'
import type { Database } from '../store/postgres/database.js'
import { decodeText } from '../store/postgres/text.js'
import { nowMs } from './run-rows.js'

/** Reads the nodes, lanes and totals of a cluster. */
export async function readStatus(database: Database, schema: string): Promise<ClusterStatus> {
  const nodes = await database.query<NodeRow>({
    text: `select n.id, n.details, n.draining, extract(epoch from n.started_at)::float8 * 1000 as started,
        extract(epoch from n.seen_at)::float8 * 1000 as seen,
        (select count(*) from ${schema}.queue_runs r where r.node = n.id and r.state = 'active')::float8 as active
      from ${schema}.nodes n where n.details <> '{}' order by n.id`,
  })
  const lanes = await database.query<LaneRow>({
    text: `select lane, count(*) filter (where state = 'queued')::float8 as queued,
        count(*) filter (where state = 'active')::float8 as active,
        (${nowMs} - min(greatest(submitted_at, not_before)) filter (where state = 'queued' and not_before <= ${nowMs}))::float8 as oldest
      from ${schema}.queue_runs where state in ('queued', 'active') group by lane order by lane`,
  })
  const sums = await database.query<{ state: string; total: number }>({
    text: `select state, count(*)::float8 as total from ${schema}.queue_runs
        where state not in ('queued', 'active') group by state
      union all select 'takeovers', tokens from ${schema}.counters where name = 'capstan:takeovers'`,
  })
  const totals = new Map(sums.map(({ state, total }) => [state, total]))
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

type NodeRow = {
  readonly id: number
  readonly details: string
  readonly started: number
  readonly seen: number
  readonly draining: boolean
  readonly active: number
}

type LaneRow = {
  readonly lane: string
  readonly queued: number
  readonly active: number
  readonly oldest: number | null
}
