import type { ClusterStatus, QueuedRun, RunQueue } from '../run-queue/run-queue.js'
import type { OtelMeter, OtelObservable, OtelObservations } from '../telemetry/otel.js'

/**
 * Reports the state of the whole queue to OpenTelemetry whenever metrics are collected. Returns a function that stops
 * this. Errors of the meter or the queue are reported and have no other effect.
 */
export function reportQueue(
  meter: OtelMeter | undefined,
  queue: Pick<RunQueue, 'status'>,
  onError: (error: unknown) => void,
): () => void {
  const values = guarded(onError, () => meter && instruments(meter))
  if (values === undefined) return () => undefined
  const all = Object.values(values)
  const collect = async (result: OtelObservations): Promise<void> => {
    try {
      observe(result, values, await queue.status())
    } catch (error) {
      onError(error)
    }
  }
  guarded(onError, () => meter?.addBatchObservableCallback?.(collect, all))
  return () => guarded(onError, () => meter?.removeBatchObservableCallback?.(collect, all))
}

/** Calls code of the host; errors are reported. */
function guarded<Result>(onError: (error: unknown) => void, work: () => Result): Result | undefined {
  try {
    return work()
  } catch (error) {
    onError(error)
    return undefined
  }
}

type Instruments = Readonly<Record<'runs' | 'oldestWait' | 'takeovers', OtelObservable>>

function instruments(meter: OtelMeter): Instruments | undefined {
  const gauge = (name: string, unit: string, description: string): OtelObservable | undefined =>
    meter.createObservableGauge?.(name, { unit, description })
  const runs = gauge('capstan.queue.runs', '{run}', 'Runs in the queue of the cluster, by state')
  const oldestWait = gauge(
    'capstan.queue.oldest_wait',
    's',
    'How long the oldest run that could start has waited, by lane',
  )
  const takeovers = meter.createObservableCounter?.('capstan.queue.takeovers', {
    unit: '{run}',
    description: 'Runs that were taken from nodes that had ended',
  })
  return runs && oldestWait && takeovers && { runs, oldestWait, takeovers }
}

function observe(result: OtelObservations, values: Instruments, status: ClusterStatus): void {
  for (const { lane, queued, active, oldestWaitMs } of status.lanes) {
    const attributes = { 'capstan.lane': lane }
    result.observe(values.runs, queued, { ...attributes, 'capstan.run.state': 'queued' })
    result.observe(values.runs, active, { ...attributes, 'capstan.run.state': 'active' })
    result.observe(values.oldestWait, oldestWaitMs / 1_000, attributes)
  }
  result.observe(values.runs, status.waiting, { 'capstan.run.state': 'waiting' })
  result.observe(values.runs, status.dead, { 'capstan.run.state': 'dead' })
  result.observe(values.takeovers, status.takeovers)
}

/** Records how long a run waited before its first claim, from the time at which it could start. */
export function claimWaits(
  meter: OtelMeter | undefined,
  onError: (error: unknown) => void,
): (run: QueuedRun) => void {
  const waits = guarded(onError, () =>
    meter?.createHistogram('capstan.queue.claim.duration', {
      unit: 's',
      description: 'How long runs waited for their first claim',
    }),
  )
  return ({ attempt, lane, submittedAtMs, notBeforeMs = 0, updatedAtMs }) => {
    if (attempt !== 1) return
    // All times come from the queue, so the clock of this node does not matter.
    const waitedMs = Math.max(0, updatedAtMs - Math.max(submittedAtMs, notBeforeMs))
    guarded(onError, () => waits?.record(waitedMs / 1_000, { 'capstan.lane': lane }))
  }
}
