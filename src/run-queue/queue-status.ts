import type { LocalNode } from './local-nodes.js'
import type { QueueState } from './queue-log.js'
import type { ClusterStatus, LaneStatus, QueuedRun, QueuedRunState } from './run-queue.js'

/** Computes the nodes, lanes and totals of a queue in one process. */
export function statusOf(state: QueueState, nodes: readonly LocalNode[], now: number): ClusterStatus {
  const runs = [...state.runs.values()]
  const count = (wanted: QueuedRunState): number => runs.filter((run) => run.state === wanted).length
  return {
    nodes: nodes.map(({ id, description, startedAtMs, isDraining }) => ({
      ...description,
      id,
      startedAtMs,
      seenAtMs: now,
      active: runs.filter(({ nodeId }) => nodeId === id).length,
      isDraining,
    })),
    lanes: lanesOf(runs, now),
    waiting: count('waiting'),
    dead: count('dead'),
    ended: { completed: count('completed'), failed: count('failed'), cancelled: count('cancelled') },
    takeovers: state.takeovers,
  }
}

function lanesOf(runs: readonly QueuedRun[], now: number): LaneStatus[] {
  const open = runs.filter(({ state }) => state === 'queued' || state === 'active')
  return [...new Set(open.map(({ lane }) => lane))].sort().map((lane) => {
    const own = open.filter((run) => run.lane === lane)
    const queued = own.filter(({ state }) => state === 'queued')
    const due = queued.flatMap(({ submittedAtMs, notBeforeMs = 0 }) =>
      notBeforeMs > now ? [] : [Math.max(submittedAtMs, notBeforeMs)],
    )
    return {
      lane,
      queued: queued.length,
      active: own.length - queued.length,
      oldestWaitMs: due.length === 0 ? 0 : Math.max(0, now - Math.min(...due)),
    }
  })
}
