/** How work ended that may be stopped from outside: with a result, or left behind after its deadline or an abort. */
export type Ended<Result> =
  | { readonly how: 'done'; readonly result: Result }
  | { readonly how: 'timeout' | 'aborted' }

export type Deadline = {
  readonly signal?: AbortSignal | undefined
  /** How long the work may take; `Infinity` for as long as it likes. */
  readonly timeoutMs: number
  /** How long it may take to stop once it was told to. */
  readonly graceMs: number
}

const maxTimerMs = 2 ** 31 - 1

/**
 * Runs work under a deadline and a signal. The work gets a signal that is aborted when either strikes. Work that ends within the
 * grace has stopped properly and its result counts, partial as it may be; work that goes on all the same is left behind, and
 * what it still says is dropped. Work that has not started when the signal is aborted never starts.
 */
export async function withDeadline<Result>(
  work: (signal: AbortSignal) => Promise<Result>,
  { signal, timeoutMs, graceMs }: Deadline,
): Promise<Ended<Result>> {
  if (signal?.aborted) return { how: 'aborted' }
  const own = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  let grace: ReturnType<typeof setTimeout> | undefined
  let leave: (ended: Ended<Result>) => void = () => undefined
  const stop = (how: 'timeout' | 'aborted', reason: DOMException): void => {
    if (own.signal.aborted) return
    own.abort(reason)
    grace = setTimeout(() => leave({ how }), graceMs)
  }
  const onAbort = (): void => stop('aborted', new DOMException('the run was aborted', 'AbortError'))
  const onTimeout = (): void =>
    stop('timeout', new DOMException(`it ran longer than ${timeoutMs} ms`, 'TimeoutError'))
  // A timer takes no more than that; longer is as good as no limit.
  if (timeoutMs <= maxTimerMs) timer = setTimeout(onTimeout, timeoutMs)
  signal?.addEventListener('abort', onAbort, { once: true })
  try {
    return await new Promise<Ended<Result>>((resolve, reject) => {
      leave = resolve
      work(own.signal).then((result) => resolve({ how: 'done', result }), reject)
    })
  } finally {
    clearTimeout(timer)
    clearTimeout(grace)
    signal?.removeEventListener('abort', onAbort)
  }
}
