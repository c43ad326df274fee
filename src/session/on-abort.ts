import { defaultMaxListeners, getMaxListeners, setMaxListeners } from 'node:events'

/**
 * Does this when the host's signal is aborted, at once when it was already. Gives what undoes that. One signal may well end many runs
 * and sessions, which is no leak to be warned of.
 */
export function onAbort(signal: AbortSignal, stop: () => void): () => void {
  if (signal.aborted) {
    stop()
    return () => undefined
  }
  if (getMaxListeners(signal) === defaultMaxListeners) setMaxListeners(0, signal)
  signal.addEventListener('abort', stop, { once: true })
  return () => signal.removeEventListener('abort', stop)
}
