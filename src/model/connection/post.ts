import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import type { Readable } from 'node:stream'

/** A server's response to a request; the body is read in chunks. */
export type Reply = {
  readonly status: number
  readonly headers: { get(name: string): string | null; entries(): Iterable<[string, string]> }
  readonly url: string
  /** Returns the next bytes; undefined at the end. Rejects when the connection breaks. */
  read(): Promise<Uint8Array | undefined>
  /** Discards the rest of the body. */
  drop(): void
}

export type Post = {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly signal: AbortSignal
}

/** Opens a request. Aborting the signal ends the connection while it is being established. */
export type OpenRequest = (address: URL, options: RequestOptions, signal: AbortSignal) => ClientRequest

/**
 * Sends a request with Node's own client. That takes half the time of `fetch`, whose streams cost more than the rest of
 * a round. Redirects are not followed: that would send the conversation, and perhaps the key, to a URL that is not
 * configured.
 */
export async function post({ url, headers, body, signal }: Post, open?: OpenRequest): Promise<Reply> {
  const start = open ?? (await directTo(url))
  signal.throwIfAborted()
  const address = new URL(url)
  // Rejected, as in `fetch`, because URLs appear in logs and messages.
  if (address.username !== '' || address.password !== '')
    throw new TypeError('the address contains a user name or password; put them into a header instead')
  return new Promise((resolve, reject) => {
    const options = { method: 'POST', headers: { 'user-agent': 'capstan', ...headers } }
    const sent = start(address, options, signal)
    const stop = (): void => void sent.destroy(asError(signal.reason))
    signal.addEventListener('abort', stop, { once: true })
    sent.once('close', () => signal.removeEventListener('abort', stop))
    sent.on('error', reject)
    sent.once('response', (message) =>
      plain(message).then((body) => resolve(replyFrom(message, body, url)), reject),
    )
    // As bytes: a long string would be joined to the head of the request and copied once more.
    sent.end(Buffer.from(body))
  })
}

async function directTo(url: string): Promise<OpenRequest> {
  const { request } = await clientFor(url)
  return (address, options) => request(address, options)
}

type Client = Pick<typeof import('node:http'), 'request'>
const clients: { http?: Promise<Client>; https?: Promise<Client> } = {}

/**
 * Loads the client with the first request, so that importing the package does not load it; and only once, because
 * imports are costly.
 */
function clientFor(url: string): Promise<Client> {
  if (!url.startsWith('https:')) {
    clients.http ??= import('node:http')
    return clients.http
  }
  clients.https ??= import('node:https')
  return clients.https
}

/** Returns the body decompressed: some servers compress it although the request does not ask for it. */
async function plain(message: IncomingMessage): Promise<Readable> {
  if (message.headers['content-encoding'] === undefined) return message
  return (await import('./decompress.js')).decompress(message)
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
    headers: {
      get: (name) => headerOf(message, name),
      entries: () => Object.keys(message.headers).map((name) => [name, headerOf(message, name) ?? '']),
    },
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

export function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new DOMException('aborted', 'AbortError')
}
