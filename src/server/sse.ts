/** One server-sent event. If it has no id, the reader keeps the id of the previous one. */
export type ServerSentEvent = { readonly id?: string | number | undefined; readonly data: string }

export type EventStreamOptions = {
  readonly heartbeatMs: number
  /** Ends the response without a final event. */
  readonly signal: AbortSignal
  /** Called once, when the response has ended or its reader has disconnected. */
  readonly onClose: () => void
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/**
 * Creates a response of server-sent events. Events are read only when the client reads them, so a slow client costs no
 * memory here. A comment is sent when there is no event for a while; it also detects dead connections.
 */
export function eventStreamResponse(
  source: AsyncIterator<ServerSentEvent, unknown, undefined>,
  { heartbeatMs, signal, onClose, headers }: EventStreamOptions,
): Response {
  const encoder = new TextEncoder()
  let pending: Promise<IteratorResult<ServerSentEvent, unknown>> | undefined
  let isOver = false
  const close = (): void => {
    if (isOver) return
    isOver = true
    onClose()
    // Not awaited: a source that waits for an event returns only after that event.
    source.return?.(undefined).catch(() => undefined)
  }
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        // The headers are sent to the client with the first bytes.
        controller.enqueue(encoder.encode(': open\n\n'))
      },
      async pull(controller) {
        pending ??= source.next()
        const next = await nextOrSilence(pending, heartbeatMs, signal)
        if (next === 'silence') {
          controller.enqueue(encoder.encode(': heartbeat\n\n'))
          return
        }
        pending = undefined
        if (next === 'stopped' || next.done === true) {
          close()
          controller.close()
          return
        }
        const { id, data } = next.value
        controller.enqueue(encoder.encode(`${id === undefined ? '' : `id: ${id}\n`}data: ${data}\n\n`))
      },
      cancel: close,
    },
    { highWaterMark: 0 },
  )
  return new Response(body, {
    headers: {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store, no-transform',
      // Some proxies buffer responses until they are complete.
      'x-accel-buffering': 'no',
      ...headers,
    },
  })
}

function nextOrSilence<Value>(
  next: Promise<Value>,
  heartbeatMs: number,
  signal: AbortSignal,
): Promise<Value | 'silence' | 'stopped'> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => done('silence'), heartbeatMs)
    timer.unref?.()
    const stop = (): void => done('stopped')
    const done = (value: Value | 'silence' | 'stopped'): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', stop)
      resolve(value)
    }
    if (signal.aborted) {
      stop()
      return
    }
    signal.addEventListener('abort', stop, { once: true })
    next.then(done, (error: unknown) => {
      clearTimeout(timer)
      signal.removeEventListener('abort', stop)
      reject(error)
    })
  })
}
