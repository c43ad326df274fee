import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'

/** What a server answers to a request: its body is read piece by piece. */
export type Reply = {
  readonly status: number
  readonly headers: { get(name: string): string | null }
  readonly url: string
  /** The next bytes; undefined at the end. Rejects when the connection breaks. */
  read(): Promise<Uint8Array | undefined>
  /** Nothing more is wanted of it. */
  drop(): void
}

export type Post = {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly signal: AbortSignal
}

/**
 * Sends a request with Node's own client: the requests of a run take half the time of `fetch`, whose streams cost more than all else
 * of a round. Follows no redirect: that would carry the conversation, and perhaps the key, to a place nobody named.
 */
export async function post({ url, headers, body, signal }: Post): Promise<Reply> {
  const { request } = await clientFor(url)
  signal.throwIfAborted()
  const address = new URL(url)
  // As with `fetch`: addresses end up in logs and messages.
  if (address.username !== '' || address.password !== '')
    throw new TypeError('the address holds a user name or password; put them into a header instead')
  return new Promise((resolve, reject) => {
    const sent = request(address, { method: 'POST', headers: { 'user-agent': 'capstan', ...headers } })
    const stop = (): void => void sent.destroy(asError(signal.reason))
    signal.addEventListener('abort', stop, { once: true })
    sent.once('close', () => signal.removeEventListener('abort', stop))
    sent.on('error', reject)
    sent.once('response', (message) =>
      plain(message).then((body) => resolve(replyFrom(message, body, url)), reject),
    )
    // As bytes: a long text would be joined to the head of the request and copied once more.
    sent.end(Buffer.from(body))
  })
}

type Client = Pick<typeof import('node:http'), 'request'>
const clients: { http?: Promise<Client>; https?: Promise<Client> } = {}

/** Loaded with the first request, so that importing the package costs nothing of it; and once, since asking again is not free. */
function clientFor(url: string): Promise<Client> {
  if (!url.startsWith('https:')) {
    clients.http ??= import('node:http')
    return clients.http
  }
  clients.https ??= import('node:https')
  return clients.https
}

/** The same with a `fetch` that a host brings. */
export async function postWith(
  fetch: typeof globalThis.fetch,
  { url, headers, body, signal }: Post,
): Promise<Reply> {
  const response = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'manual' })
  const reader = response.body?.getReader()
  return {
    status: response.status,
    headers: response.headers,
    url: response.url,
    read: async () => (await reader?.read())?.value,
    // Not awaited: a body that is being cancelled has nothing more to tell, not even how that went.
    drop: () => void reader?.cancel().catch(() => undefined),
  }
}

/** The body as it was meant: there are servers that compress it without being asked to. */
async function plain(message: IncomingMessage): Promise<Readable> {
  const encoding = message.headers['content-encoding']?.toLowerCase() ?? ''
  if (!/^(?:x-)?(?:gzip|deflate|br)$/.test(encoding)) return message
  const { createBrotliDecompress, createUnzip } = await import('node:zlib')
  const { pipeline } = await import('node:stream')
  // What goes wrong on the way shows at its end.
  return pipeline(message, encoding === 'br' ? createBrotliDecompress() : createUnzip(), () => undefined)
}

function replyFrom(message: IncomingMessage, body: Readable, url: string): Reply {
  let failed: Error | undefined
  let ended = false
  let wake: () => void = () => undefined
  body.on('readable', () => wake())
  body.once('end', () => {
    ended = true
    wake()
  })
  body.on('error', (error) => {
    failed ??= error
    wake()
  })
  body.once('close', () => {
    if (!ended) failed ??= Object.assign(new Error('the connection was closed'), { code: 'ECONNRESET' })
    wake()
  })
  return {
    status: message.statusCode ?? 0,
    headers: { get: (name) => headerOf(message, name) },
    url,
    async read() {
      for (;;) {
        const bytes: Buffer | null = body.read()
        if (bytes !== null) return bytes
        if (ended) return undefined
        if (failed !== undefined) throw failed
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    },
    drop: () => void message.destroy(),
  }
}

function headerOf({ headers }: IncomingMessage, name: string): string | null {
  const value = headers[name.toLowerCase()]
  return (Array.isArray(value) ? value.join(', ') : value) ?? null
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new DOMException('aborted', 'AbortError')
}
