import { emitCluster } from './emit-cluster.js'
import type { SessionKernel } from './kernel.js'

/** The reason and the time limit for ending the round before a session is suspended. */
export type PassivateOptions = {
  readonly reason: string
  /** How long the round can take, in milliseconds. Default: 30,000. Then its calls are stopped. */
  readonly deadlineMs?: number | undefined
}

/** Ends a session at the next point where no work is lost. */
export type Passivation = {
  /** Called when the results of a round are in the log. */
  roundDone(): void
  readonly done: Promise<void>
}

const defaultDeadlineMs = 30_000

/**
 * Suspends the session when the current round of its run has ended, so that another process can resume without
 * repeating anything. A run that only waits for a user is suspended immediately.
 */
export function passivate(kernel: SessionKernel, options: PassivateOptions): Promise<void> {
  kernel.passivation ??= start(kernel, options)
  return kernel.passivation.done
}

function start(
  kernel: SessionKernel,
  { reason, deadlineMs = defaultDeadlineMs }: PassivateOptions,
): Passivation {
  let end = (): void => undefined
  const safePoint = new Promise<void>((resolve) => {
    end = resolve
  })
  const timer = setTimeout(end, deadlineMs)
  if (kernel.queue.active === undefined || isWaitingForUser(kernel)) end()
  // A run that ends by itself needs no further round.
  else void kernel.queue.active.result.then(end, end)
  const emitted = emitCluster(kernel, { type: 'passivation_requested', reason, deadlineMs })
  const done = Promise.all([safePoint, emitted]).then(() => {
    clearTimeout(timer)
    return kernel.suspend()
  })
  return {
    roundDone: () => {
      // Immediately: the loop must not begin another round.
      void kernel.suspend()
      end()
    },
    done,
  }
}

/** Whether every call of the round has ended or waits for a user, and at least one waits. */
export function isWaitingForUser(kernel: SessionKernel): boolean {
  const { confirmations, questions } = kernel
  const { recorder, conversation } = kernel.log
  if (kernel.queue.active === undefined || recorder === undefined) return false
  const waiting = new Set([
    ...confirmations.pending().flatMap(({ toolId, fromBefore }) => (fromBefore === true ? [] : [toolId])),
    ...questions.calls(),
  ])
  const last = conversation.kept.at(-1)?.message
  if (waiting.size === 0 || last?.role !== 'assistant') return false
  const ended = recorder.endedCalls
  return last.content.every((part) => part.type !== 'tool_call' || ended.has(part.id) || waiting.has(part.id))
}
