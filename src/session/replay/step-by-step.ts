/** Passes a step to the reader, and waits until the reader requests the next one. */
export type HandOver<Step> = (step: Step) => Promise<void>

/** Yields the steps of work that advances only as fast as they are read. The work ends when the reader stops. */
export async function* stepByStep<Step>(
  work: (handOver: HandOver<Step>, signal: AbortSignal) => Promise<void>,
  outer?: AbortSignal,
): AsyncGenerator<Step, void, undefined> {
  const left = new AbortController()
  const signal = outer === undefined ? left.signal : AbortSignal.any([left.signal, outer])
  let waiting: { readonly step: Step; resume(): void } | undefined
  let wake: () => void = () => undefined
  const handOver: HandOver<Step> = (step) => {
    if (left.signal.aborted) return Promise.resolve()
    return new Promise((resume) => {
      waiting = { step, resume }
      wake()
    })
  }
  let failure: { readonly error: unknown } | undefined
  let over = false
  const ended = work(handOver, signal).then(
    () => undefined,
    (error: unknown) => {
      failure = { error }
    },
  )
  void ended.then(() => {
    over = true
    wake()
  })
  try {
    for (;;) {
      if (waiting === undefined && !over)
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      const taken = waiting
      if (taken === undefined) break
      waiting = undefined
      try {
        yield taken.step
      } finally {
        // Also when the reader stops here: the work must be able to end.
        taken.resume()
      }
    }
    if (failure !== undefined) throw failure.error
  } finally {
    left.abort()
    await ended
  }
}
