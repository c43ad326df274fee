/** How work under a deadline ended: with a result, or abandoned after the deadline or an abort. */
export type Ended<Result> =
  | { readonly how: 'done'; readonly result: Result }
  | { readonly how: 'timeout' | 'aborted' }

/** A time limit and an abort signal for one piece of work. The caller stops it when the work has ended. */
export type Deadline = {
  /** Aborted when the time is up or the caller's signal is aborted. The reason says which. */
  readonly signal: AbortSignal
  /**
   * Waits for work, one piece at a time. Work that ends within the grace period after the abort has stopped properly,
   * and its result is used, even if it is partial. Work that continues is abandoned, and its result is dropped.
   */
  settle<Result>(work: Promise<Result>): Promise<Ended<Result>>
  stop(): void
}

export type DeadlineOptions = {
  readonly signal?: AbortSignal | undefined
  /** The time limit of the work; `Infinity` for no limit. */
  readonly timeoutMs: number
  /** The time that the work has to stop after the abort. */
  readonly graceMs: number
}

const maxTimerMs = 2 ** 31 - 1

/**
 * Starts the clock of a piece of work.
 *
 * @example
 * const deadline = startDeadline({ signal, timeoutMs: 30_000, graceMs: 1_000 })
 * try {
 *   const ended = await deadline.settle(work(deadline.signal))
 * } finally {
 *   deadline.stop()
 * }
 */
export function startDeadline({ signal, timeoutMs, graceMs }: DeadlineOptions): Deadline {
  const own = new AbortController()
  let grace: ReturnType<typeof setTimeout> | undefined
  let abandoned: Ended<never> | undefined
  /** Resolves the promise of the current `settle`. */
  let giveUp: (ended: Ended<never>) => void = () => undefined
  const abort = (how: 'timeout' | 'aborted', reason: DOMException): void => {
    if (own.signal.aborted) return
    own.abort(reason)
    grace = setTimeout(() => {
      abandoned = { how }
      giveUp(abandoned)
    }, graceMs)
  }
  const onAbort = (): void => abort('aborted', new DOMException('the run was aborted', 'AbortError'))
  const onTimeout = (): void =>
    abort('timeout', new DOMException(`it ran longer than ${timeoutMs} ms`, 'TimeoutError'))
  // Timers do not support longer delays; such a limit is treated as none.
  const timer = timeoutMs <= maxTimerMs ? setTimeout(onTimeout, timeoutMs) : undefined
  if (signal?.aborted) onAbort()
  signal?.addEventListener('abort', onAbort, { once: true })
  return {
    signal: own.signal,
    settle: (work) =>
      new Promise((resolve, reject) => {
        giveUp = resolve
        work.then((result) => resolve({ how: 'done', result }), reject)
        if (abandoned !== undefined) resolve(abandoned)
      }),
    stop() {
      clearTimeout(timer)
      clearTimeout(grace)
      signal?.removeEventListener('abort', onAbort)
    },
  }
}
