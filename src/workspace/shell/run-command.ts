import { constants } from 'node:os'
import type { LimitReached } from '../../tool/runtime.js'
import type { LimitWatch } from '../limits/hold-limits.js'
import { drain, type Exit, type Running } from './launch.js'
import type { ProcessEntry } from './process-table.js'
import { endRun, findLeftovers } from './run-trace.js'
import { withTimeout } from './with-timeout.js'

export type RunLimits = {
  readonly timeoutMs?: number | undefined
  readonly signals: readonly AbortSignal[]
  /** The time between TERM and KILL. */
  readonly graceMs: number
  readonly killMs: number
  readonly limits: LimitWatch
}

export type RunEnd = Exit & {
  readonly timedOut: boolean
  readonly aborted: boolean
  /** The limit that ended the command. */
  readonly limit?: LimitReached | undefined
  readonly durationMs: number
  /** The processes that outlived the command. */
  readonly left: readonly ProcessEntry[]
}

/**
 * Waits for a command that was started. It ends when its process exits, even if a child still has its pipe open. When
 * the time is over, a limit is reached or the host aborts, the command and everything it started is ended.
 */
export async function runCommand(running: Running, limits: RunLimits): Promise<RunEnd> {
  const stop = watchForStop(limits)
  try {
    const { reached, after, kill } = limits.limits
    let limit: LimitReached | undefined
    const over = reached.then((found) => {
      limit = found
      return 'limit' as const
    })
    const why = await Promise.race([running.exit.then(() => 'exited' as const), stop.happened, over])
    const durationMs = performance.now() - running.startedAt
    if (why === 'exited') {
      const exit = await running.exit
      const left = await afterExit(running, limits)
      return { ...exit, timedOut: false, aborted: false, limit: after(exit), durationMs, left }
    }
    // No grace period for a command that exceeds a resource limit.
    if (why === 'limit') kill()
    const left = await endRun(running.trace, why === 'limit' ? { ...limits, graceMs: 0 } : limits)
    const exit = bySignal((await withTimeout(running.exit, 500)) ?? { exitCode: null })
    if (!(await drain(running)) && left.length === 0) running.stopReading()
    return {
      ...exit,
      timedOut: why === 'timeout',
      aborted: why === 'abort',
      limit,
      durationMs: performance.now() - running.startedAt,
      left,
    }
  } finally {
    stop.forget()
  }
}

async function afterExit(running: Running, limits: RunLimits): Promise<ProcessEntry[]> {
  // No process outlives a contained command. This waits until the kernel has cleaned up.
  if (running.trace.contained) {
    const stuck = await endRun(running.trace, { graceMs: 0, killMs: limits.killMs })
    if (!(await drain(running)) && stuck.length === 0) running.stopReading()
    return stuck
  }
  const isPipeReleased = await drain(running)
  const left = findLeftovers(running.trace, { pipeHeld: !isPipeReleased })
  // A process that cannot be seen has the pipe open: its output is not waited for.
  if (!isPipeReleased && left.length === 0) running.stopReading()
  return left
}

type Stop = { readonly happened: Promise<'timeout' | 'abort'>; forget(): void }

function watchForStop({ timeoutMs, signals }: RunLimits): Stop {
  let timer: NodeJS.Timeout | undefined
  let onAbort: (() => void) | undefined
  const happened = new Promise<'timeout' | 'abort'>((resolve) => {
    onAbort = () => resolve('abort')
    if (signals.some((signal) => signal.aborted)) return onAbort()
    for (const signal of signals) signal.addEventListener('abort', onAbort, { once: true })
    // `setTimeout` fires at once for a longer delay.
    if (timeoutMs !== undefined)
      timer = setTimeout(() => resolve('timeout'), Math.min(timeoutMs, 2 ** 31 - 1))
  })
  return {
    happened,
    forget() {
      clearTimeout(timer)
      for (const signal of signals) if (onAbort !== undefined) signal.removeEventListener('abort', onAbort)
    },
  }
}

/** A sandbox exits with 128 plus the number of the signal that ended its command. */
function bySignal(exit: Exit): Exit {
  if (exit.exitCode === 128 + constants.signals.SIGTERM) return { exitCode: null, signal: 'SIGTERM' }
  if (exit.exitCode === 128 + constants.signals.SIGKILL) return { exitCode: null, signal: 'SIGKILL' }
  return exit
}
