import { Agent as HttpAgent, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { Readable, Transform } from 'node:stream'
import { type AllowPrivate, privateAccess } from './allow-private.js'
import { NetError } from './errors.js'
import { explainFailure } from './explain-failure.js'
import type { NetSeams } from './guarded-fetch.js'
import { judgeUrl, type PermitHost, show } from './judge-url.js'
import { checkHeaders, checkMethod } from './request-headers.js'
import { resolveChecked, systemResolver } from './resolve.js'
import { sendOnce } from './send-once.js'

export type GuardedStreamOptions = {
  readonly permitHost: PermitHost
  readonly allowPrivate?: AllowPrivate | undefined
  /** The maximum number of bytes between two blank lines of an event stream, or of any other body. */
  readonly maxBytes: number
  readonly userAgent?: string | undefined
}

/** A `fetch` function for libraries, for protocols whose responses are streams without an end. */
export type GuardedStream = {
  fetch(url: string | URL, init?: RequestInit): Promise<Response>
  /** Closes connections that are kept open for the next request. */
  close(): void
}

/**
 * Applies the checks of `createGuardedFetch` to responses that are read as they arrive. Redirects are not followed: the
 * caller receives them. Nothing is decoded, so an encoded response is refused; there is no time limit, only the
 * caller's signal.
 */
export function createGuardedStream(options: GuardedStreamOptions, seams: NetSeams = {}): GuardedStream {
  const policyFor = privateAccess(options.allowPrivate)
  const agents = {
    'http:': new HttpAgent({ keepAlive: true, maxFreeSockets: 2, timeout: idleMs }),
    'https:': new HttpsAgent({ keepAlive: true, maxFreeSockets: 2, timeout: idleMs }),
  }
  return {
    async fetch(target, init = {}) {
      const destination = judgeUrl(String(target), options.permitHost, policyFor)
      const signal = init.signal ?? new AbortController().signal
      const { host, policy, url } = destination
      try {
        signal.throwIfAborted()
        const addresses = await resolveChecked(host, policy, seams.resolver ?? systemResolver)
        signal.throwIfAborted()
        const agent = agents[url.protocol === 'https:' ? 'https:' : 'http:']
        const answer = await sendOnce(destination, addresses, requestOf(init, options), signal, {
          ...seams,
          agent,
        })
        return responseOf(answer, url, options.maxBytes)
      } catch (thrown) {
        if (signal.aborted) throw signal.reason
        throw explainFailure(thrown, url.href)
      }
    },
    close() {
      for (const agent of Object.values(agents)) agent.destroy()
    },
  }
}

/** A connection that was idle for this long is closed. */
const idleMs = 30_000

function requestOf(
  init: RequestInit,
  { userAgent = 'capstan' }: GuardedStreamOptions,
): Parameters<typeof sendOnce>[2] {
  const given = Object.fromEntries(new Headers(init.headers))
  return {
    method: checkMethod(init.method ?? 'GET'),
    headers: { ...checkHeaders(given, userAgent), 'accept-encoding': 'identity' },
    body: bodyOf(init.body),
  }
}

function bodyOf(body: RequestInit['body']): Uint8Array | undefined {
  if (body === undefined || body === null) return undefined
  if (typeof body === 'string') return Buffer.from(body)
  if (body instanceof URLSearchParams) return Buffer.from(body.toString())
  if (body instanceof Uint8Array) return body
  throw new NetError('net_request_invalid', 'Only text and bytes can be sent as a body.')
}

function responseOf(answer: IncomingMessage, url: URL, maxBytes: number): Response {
  const encoding = answer.headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity') {
    answer.destroy()
    throw new NetError(
      'net_bad_response',
      `${show(url)} answered in the encoding "${encoding}", which was not asked for.`,
    )
  }
  const headers = new Headers()
  for (const [name, value] of Object.entries(answer.headers)) {
    if (value === undefined || name === 'set-cookie') continue
    headers.set(name, Array.isArray(value) ? value.join(', ') : value)
  }
  const status = answer.statusCode ?? 0
  // `Response` does not accept a body for these statuses, and they have none.
  const empty = status === 204 || status === 205 || status === 304 || status < 200
  if (empty) answer.resume()
  const events = headers.get('content-type')?.startsWith('text/event-stream') === true
  const response = new Response(empty ? null : bounded(answer, url, maxBytes, events), {
    status: Math.max(status, 200),
    headers,
  })
  Object.defineProperty(response, 'url', { value: url.href })
  return response
}

/** Limits the length of each event, or of any other body. */
function bounded(
  answer: IncomingMessage,
  url: URL,
  maxBytes: number,
  events: boolean,
): ReadableStream<Uint8Array> {
  let since = 0
  const counted = answer.pipe(
    new Transform({
      transform(chunk: Buffer, _encoding, done) {
        const end = events ? Math.max(chunk.lastIndexOf('\n\n'), chunk.lastIndexOf('\r\n\r\n')) : -1
        since = end >= 0 ? chunk.length - end : since + chunk.length
        if (since <= maxBytes) return done(null, chunk)
        answer.destroy()
        done(new NetError('net_bad_response', `${show(url)} sent more than ${maxBytes} bytes in one answer.`))
      },
    }),
  )
  answer.on('error', (error) => counted.destroy(error))
  answer.on('close', () => {
    if (answer.complete) return
    const cause = Object.assign(new Error('The connection was closed.'), { code: 'ECONNRESET' })
    counted.destroy(new NetError('net_bad_response', `${show(url)} broke off its answer.`, { cause }))
  })
  counted.on('close', () => answer.destroy())
  return Readable.toWeb(counted) as ReadableStream<Uint8Array>
}
