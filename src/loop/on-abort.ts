import { setMaxListeners } from 'node:events'

/**
 * Calls `stop` when the host's signal is aborted, immediately if it already is. Returns a function that removes the
 * listener. One signal can end many runs, sessions and readers, so Node's warning about many listeners is disabled.
 */
export function onAbort(signal: AbortSignal, stop: () => void): () => void {
  if (signal.aborted) {
    stop()
    return () => undefined
  }
  try {
    setMaxListeners(0, signal)
  } catch {
    // A signal that is not Node's own has no listener limit.
  }
  signal.addEventListener('abort', stop, { once: true })
  return () => signal.removeEventListener('abort', stop)
}

/** Resolves after this time, or as soon as the signal is aborted. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  if (signal?.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      undo?.()
      resolve()
    }
    const timer = setTimeout(done, ms)
    const undo = signal && onAbort(signal, done)
  })
}
