import type { RunQueue, RunRetention } from '../run-queue/run-queue.js'

const everyMs = 10 * 60_000

/**
 * Removes runs that have ended from time to time, also those that an earlier process left.
 *
 * @returns a function that stops it
 */
export function removeEndedRuns(
  queue: RunQueue,
  retention: RunRetention,
  report: (error: unknown) => void,
): () => void {
  let isStopped = false
  let timer: NodeJS.Timeout | undefined
  const remove = async (): Promise<void> => {
    try {
      while (!isStopped && (await queue.removeEnded(retention)) > 0);
    } catch (error) {
      if (!isStopped) report(error)
    }
    // Nodes that started together do not look together.
    if (!isStopped) timer = setTimeout(remove, everyMs * (0.5 + Math.random())).unref()
  }
  timer = setTimeout(remove, Math.random() * firstWithinMs).unref()
  return () => {
    isStopped = true
    clearTimeout(timer)
  }
}

const firstWithinMs = 5_000
