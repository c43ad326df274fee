import type { OpenedQueue, QueueState } from './queue-log.js'
import {
  type CounterAddition,
  type CounterLimits,
  type CounterTotals,
  isReached,
  type Reservation,
} from './run-queue.js'

/** How long the ids of additions to counters are remembered. */
const rememberedMs = 10 * 60_000

/** The totals of a counter of a queue in one process. */
export function totalsIn({ counters }: QueueState, name: string): CounterTotals {
  return counters.get(name) ?? { tokens: 0, costUsd: 0 }
}

/** Adds to a counter, once for each id of an addition. */
export async function addToCounter(
  { state, log }: OpenedQueue,
  name: string,
  add: CounterAddition,
  now: number,
): Promise<CounterTotals> {
  for (const [id, atMs] of state.additions)
    if (atMs < now - rememberedMs) state.additions.delete(id)
    else break
  if (state.additions.has(add.id)) {
    // The first addition may not be written to disk yet.
    await log.write([])
    return totalsIn(state, name)
  }
  const before = totalsIn(state, name)
  const totals = { tokens: before.tokens + add.tokens, costUsd: before.costUsd + add.costUsd }
  state.additions.set(add.id, now)
  state.counters.set(name, totals)
  await log.writeTotals(state)
  return totals
}

/** Adds to a counter unless one of its totals has reached its limit. */
export async function reserveInCounter(
  opened: OpenedQueue,
  name: string,
  add: CounterAddition,
  limits: CounterLimits,
  now: number,
): Promise<Reservation> {
  const totals = totalsIn(opened.state, name)
  if (!opened.state.additions.has(add.id) && isReached(totals, limits)) return { isReserved: false, totals }
  // The totals change synchronously: nothing else runs between the check and the addition.
  return { isReserved: true, totals: await addToCounter(opened, name, add, now) }
}
