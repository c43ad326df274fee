import { type ClaimOptions, isOpenRun, type QueuedRun, type TenantLimits } from './run-queue.js'

/** A run with its position in the order of submission. */
export type PlacedRun = QueuedRun & {
  readonly order: number
  /** Whether it had a slot before, or a user answered it: it starts before others of its lane. */
  readonly front: boolean
  /** While it is `waiting`: when it is queued again without a message. */
  readonly wakeAtMs?: number | undefined
}

/**
 * Selects the runs that a node claims now: due, in the lanes of the node, first of their session, and within the
 * limit of their tenant. Runs that had a slot before come first, then higher priorities, then earlier submissions.
 */
export function claimable<Run extends PlacedRun>(
  runs: Iterable<Run>,
  { lanes, max, tenantLimits }: ClaimOptions,
  now: number,
): Run[] {
  const due: Run[] = []
  const activeOfTenant = new Map<string, number>()
  /** The first unfinished run of each session. A run that is not due yet does not delay the others. */
  const first = new Map<string, Run>()
  for (const run of runs) {
    if (!isOpenRun(run)) continue
    if (run.state === 'active')
      activeOfTenant.set(run.tenantId ?? '', (activeOfTenant.get(run.tenantId ?? '') ?? 0) + 1)
    if (run.state === 'queued' && (run.notBeforeMs ?? 0) > now) continue
    const known = first.get(run.sessionId)
    if (known === undefined || isBefore(run, known)) first.set(run.sessionId, run)
  }
  for (const run of first.values()) if (run.state === 'queued' && lanes.includes(run.lane)) due.push(run)
  due.sort(byUrgency)
  const taken: Run[] = []
  for (const run of due) {
    if (taken.length >= max) break
    const tenant = run.tenantId ?? ''
    const active = activeOfTenant.get(tenant) ?? 0
    if (run.tenantId !== undefined && active >= limitOf(run, tenantLimits)) continue
    activeOfTenant.set(tenant, active + 1)
    taken.push(run)
  }
  return taken
}

/** Returns the maximum number of active runs of this run's tenant. */
function limitOf({ tier }: Pick<QueuedRun, 'tier'>, limits: TenantLimits = {}): number {
  const { tiers, default: fallback = Number.POSITIVE_INFINITY } = limits
  if (tier === undefined || tiers === undefined || !Object.hasOwn(tiers, tier)) return fallback
  return tiers[tier] ?? fallback
}

/** A run that has started comes before runs of its session that have not. */
function isBefore(run: PlacedRun, other: PlacedRun): boolean {
  const begun = Number(hasBegun(other)) - Number(hasBegun(run))
  return begun === 0 ? run.order < other.order : begun < 0
}

function hasBegun({ state, front }: PlacedRun): boolean {
  return state !== 'queued' || front
}

function byUrgency(a: PlacedRun, b: PlacedRun): number {
  return Number(b.front) - Number(a.front) || b.priority - a.priority || a.order - b.order
}
