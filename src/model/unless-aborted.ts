/** What a promise gives, or the signal's reason as soon as it is aborted: for parties that know no signal, or ignore it. */
export function unlessAborted<Value>(promise: PromiseLike<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason)
    if (signal.aborted) {
      // Nobody waits for it any more, and how it ends is no surprise.
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
