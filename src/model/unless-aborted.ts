/**
 * Settles like the promise, or rejects with the signal's reason as soon as it is aborted. For callees without or
 * ignoring a signal.
 */
export function unlessAborted<Value>(promise: PromiseLike<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason)
    if (signal.aborted) {
      // No caller waits for it any more, so its error is ignored.
      promise.then(undefined, () => undefined)
      return onAbort()
    }
    signal.addEventListener('abort', onAbort, { once: true })
    const done = (): void => signal.removeEventListener('abort', onAbort)
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
