import { messageOf } from '../../tool/errors.js'

/**
 * Converts the events of a prompt to lines of JSON, for the body of a response. An error has its name, message and
 * code, without stack and cause. When the reader cancels, the prompt stops.
 *
 * @example
 * const headers = { 'content-type': 'application/x-ndjson' }
 * return new Response(toReadableStream(agent.prompt(text).stream()), { headers })
 */
export function toReadableStream(events: AsyncIterable<unknown>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  const iterator = events[Symbol.asyncIterator]()
  let failed = false
  const line = (event: unknown): Uint8Array => encoder.encode(`${JSON.stringify(event, withPlainErrors)}\n`)
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await iterator.next()
          if (done) return controller.close()
          failed ||= isErrorEvent(value)
          controller.enqueue(line(value))
        } catch (error) {
          // A stream of this SDK has already emitted the error as an event.
          if (!failed) controller.enqueue(line({ type: 'error', error }))
          controller.close()
        }
      },
      async cancel() {
        await iterator.return?.()
      },
    },
    // No read-ahead: the prompt starts when the reader starts.
    { highWaterMark: 0 },
  )
}

function isErrorEvent(event: unknown): boolean {
  return typeof event === 'object' && event !== null && 'type' in event && event.type === 'error'
}

function withPlainErrors(_key: string, value: unknown): unknown {
  if (!(value instanceof Error)) return typeof value === 'bigint' ? String(value) : value
  const { name } = value
  const code = 'code' in value && typeof value.code === 'string' ? { code: value.code } : {}
  return { name, message: messageOf(value), ...code }
}
