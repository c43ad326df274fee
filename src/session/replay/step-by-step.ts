/** Gives a step to the reader, and waits until it asks for the next. */
export type HandOver<Step> = (step: Step) => Promise<void>

/** The steps of work that continues only as fast as they are read. A reader that leaves ends the work. */
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
        // Also when the reader leaves here: the work must come to its end.
        taken.resume()
      }
    }
    if (failure !== undefined) throw failure.error
  } finally {
    left.abort()
    await ended
  }
}
