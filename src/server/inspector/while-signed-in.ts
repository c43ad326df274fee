import type { Visit } from './browser-sign-in.js'

/**
 * Ends the event stream of a browser with its sign-in: every chunk, including heartbeats, is sent only while the visit
 * is valid. Other responses are returned unchanged.
 */
export function whileSignedIn(response: Response, visit: Visit): Response {
  const { body, headers } = response
  if (body === null || headers.get('content-type') !== 'text/event-stream') return response
  const reader = body.getReader()
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read()
        if (!done && visit.isValid()) {
          controller.enqueue(value)
          return
        }
        controller.close()
        await reader.cancel()
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
  return new Response(stream, response)
}
