import { setMaxListeners } from 'node:events'

/**
 * Does this when the host's signal is aborted, at once when it was already. Gives what undoes that. One signal may well
 * end many runs, sessions and readers, which is not a leak to be warned of.
 */
export function onAbort(signal: AbortSignal, stop: () => void): () => void {
  if (signal.aborted) {
    stop()
    return () => undefined
  }
  try {
    setMaxListeners(0, signal)
  } catch {
    // A signal that is not Node's own counts no listeners.
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
