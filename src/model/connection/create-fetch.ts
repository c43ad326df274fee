import type { ConnectionOptions } from './connection-options.js'
import { createSender, mayNeedRoute, type Sender } from './create-sender.js'

/** Returns the `fetch` for a provider's library. */
export function createFetch(
  options: ConnectionOptions,
  url: string,
  secrets: string[],
): typeof globalThis.fetch {
  const send = createSender(options, url, secrets)
  return (input, init) =>
    options.fetch !== undefined || !mayNeedRoute(options)
      ? (options.fetch ?? globalThis.fetch)(input, init)
      : fetchWith(send, input, init)
}

/** Implements `fetch` for the libraries of providers, which only send text by POST. */
async function fetchWith(
  send: Sender,
  input: Parameters<typeof globalThis.fetch>[0],
  init: RequestInit = {},
): Promise<Response> {
  const { body, headers, signal } = init
  if (typeof body !== 'string') throw new TypeError('a request through a proxy needs a body that is a text')
  const url = input instanceof Request ? input.url : String(input)
  const reply = await send({
    url,
    body,
    headers: Object.fromEntries(new Headers(headers)),
    signal: signal ?? new AbortController().signal,
  })
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const bytes = await reply.read()
      if (bytes === undefined) controller.close()
      else controller.enqueue(bytes)
    },
    cancel: () => reply.drop(),
  })
  const hasBody = ![204, 205, 304].includes(reply.status)
  if (!hasBody) reply.drop()
  return new Response(hasBody ? stream : null, { status: reply.status, headers: plainHeaders(reply.headers) })
}

/** Removes the headers for encoding and length, because the body is already decompressed. */
function plainHeaders(headers: { entries(): Iterable<[string, string]> }): [string, string][] {
  return [...headers.entries()].filter(
    ([name]) => !/^(?:content-encoding|content-length|transfer-encoding)$/.test(name),
  )
}
