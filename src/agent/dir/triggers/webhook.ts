import { createHmac, timingSafeEqual } from 'node:crypto'
import type { SessionMail, SessionMailbox } from '../../../store/session-store.js'
import { tryOr } from '../../../tool/errors.js'

/** The outcome of a webhook request. */
export type WebhookOutcome =
  | { readonly status: 202; readonly data: string }
  | { readonly status: 400 | 401 | 405 | 409 | 413 | 429 }

/**
 * Checks the requests of one webhook. A request has the headers `capstan-timestamp`, in seconds, and
 * `capstan-signature`: `v1=` and the hexadecimal HMAC-SHA256 of the timestamp, the name of the schedule and the body,
 * with a line feed after each of the first two. A request that is older than five minutes, more than a minute ahead of
 * the clock, or already seen is rejected. So is a request from before this process started serving, unless a database
 * stores the seen requests.
 */
export class Webhook {
  readonly #name: string
  readonly #secret: string
  readonly #now: () => number
  readonly #seen: SeenRequests

  /** @param name of the schedule: several schedules can have the same secret */
  constructor(name: string, secret: string, now: () => number, seen: SeenRequests = seenHere(now)) {
    this.#name = name
    this.#secret = secret
    this.#now = now
    this.#seen = seen
  }

  async accept(request: Request): Promise<WebhookOutcome> {
    if (request.method !== 'POST') return { status: 405 }
    const timestamp = request.headers.get('capstan-timestamp') ?? ''
    const given = request.headers.get('capstan-signature') ?? ''
    const sentAt = /^\d{1,12}$/.test(timestamp) ? Number(timestamp) * 1_000 : Number.NaN
    const now = this.#now()
    const isFresh = now - sentAt <= toleranceMs && sentAt + 999 >= this.#seen.sinceMs
    // A request dated far ahead could be replayed to the next process after this one.
    if (!isFresh || !(sentAt - now <= maxAheadMs) || given.length > maxHeaderLength) return { status: 401 }
    const body = await readBytes(request)
    if (body === undefined) return { status: 413 }
    const place = `${timestamp}\n${this.#name}\n`
    const expected = `v1=${createHmac('sha256', this.#secret).update(place).update(body).digest('hex')}`
    const a = Buffer.from(given)
    const b = Buffer.from(expected)
    if (a.length !== b.length || !timingSafeEqual(a, b)) return { status: 401 }
    const data = tryOr(() => new TextDecoder('utf-8', { fatal: true }).decode(body), undefined)
    if (data === undefined) return { status: 400 }
    const untilMs = sentAt + toleranceMs
    const status = await this.#seen.add({ id: expected, body: data, expiresAtMs: untilMs })
    return status === 202 ? { status, data } : { status }
  }
}

/** Stores which requests were accepted. */
export type SeenRequests = {
  /** Requests from before this time may have been accepted by a process whose memory is lost. */
  readonly sinceMs: number
  /** Records a request until it expires. 409: it was already accepted. 429: no more requests can be recorded. */
  add(request: SessionMail & { readonly expiresAtMs: number }): Promise<202 | 409 | 429>
}

/** Records the accepted requests in the memory of this process. */
function seenHere(now: () => number): SeenRequests {
  const seen = new Map<string, number>()
  return {
    sinceMs: now(),
    async add({ id, expiresAtMs }) {
      for (const [known, until] of seen) if (until < now()) seen.delete(known)
      if (seen.has(id)) return 409
      // Forgetting an accepted request would allow its replay.
      if (seen.size >= maxSeen) return 429
      seen.set(id, expiresAtMs)
      return 202
    },
  }
}

/**
 * Records the accepted requests in the mailbox of a store, for all its processes. The process that holds the session of
 * the schedule fires for them.
 */
export function seenByAll(mailbox: SessionMailbox, sessionId: string): SeenRequests {
  return {
    sinceMs: 0,
    add: async (request) => ((await mailbox.post(sessionId, request)) ? 202 : 409),
  }
}

const toleranceMs = 300_000
const maxAheadMs = 60_000
const maxBodyBytes = 256 * 1024
const maxHeaderLength = 200
const maxSeen = 10_000

async function readBytes(request: Request): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = []
  let length = 0
  if (request.body === null) return Buffer.alloc(0)
  const reader: ReadableStreamDefaultReader<Uint8Array> = request.body.getReader()
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return Buffer.concat(chunks)
    length += value.length
    if (length > maxBodyBytes) {
      await reader.cancel()
      return undefined
    }
    chunks.push(value)
  }
}
