/**
 * Settles like the promise, or rejects as soon as the signal is aborted, with its reason or the given one. For work
 * that has no signal or ignores it: the work itself may continue, and its late error is ignored.
 */
export function unlessAborted<Value>(
  promise: PromiseLike<Value>,
  signal: AbortSignal | undefined,
  reason: (signal: AbortSignal) => unknown = (aborted) => aborted.reason,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal === undefined ? undefined : reason(signal))
    if (signal?.aborted) onAbort()
    else signal?.addEventListener('abort', onAbort, { once: true })
    const done = (): void => signal?.removeEventListener('abort', onAbort)
    promise.then(
      (value) => {
        done()
        resolve(value)
      },
      (error: unknown) => {
        done()
        reject(error)
      },
    )
  })
}

/** Resolves when the signal is aborted. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
