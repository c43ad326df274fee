import { createHmac, timingSafeEqual } from 'node:crypto'

/** The outcome of a webhook request. */
export type WebhookOutcome =
  | { readonly status: 202; readonly data: string }
  | { readonly status: 400 | 401 | 405 | 409 | 413 | 429 }

/**
 * Checks the requests of one webhook. A request has the headers `capstan-timestamp`, in seconds, and
 * `capstan-signature`: `v1=` and the hexadecimal HMAC-SHA256 of the timestamp, the name of the schedule and the body,
 * with a line feed after each of the first two. One that is older than five minutes, more than a minute ahead, from
 * before this process served, or was seen before is refused.
 */
export class Webhook {
  readonly #name: string
  readonly #secret: string
  readonly #now: () => number
  readonly #startedAt: number
  /** Signatures of accepted requests, with the time at which they are too old anyway. */
  readonly #seen = new Map<string, number>()

  /** @param name of the schedule: several schedules can have the same secret */
  constructor(name: string, secret: string, now: () => number) {
    this.#name = name
    this.#secret = secret
    this.#now = now
    this.#startedAt = now()
  }

  async accept(request: Request): Promise<WebhookOutcome> {
    if (request.method !== 'POST') return { status: 405 }
    const timestamp = request.headers.get('capstan-timestamp') ?? ''
    const given = request.headers.get('capstan-signature') ?? ''
    const sentAt = /^\d{1,12}$/.test(timestamp) ? Number(timestamp) * 1_000 : Number.NaN
    const now = this.#now()
    // A request from before the start may have been accepted by the previous process.
    const isFresh = now - sentAt <= toleranceMs && sentAt + 999 >= this.#startedAt
    // One that is dated far ahead could be sent again to the process after this one.
    if (!isFresh || !(sentAt - now <= maxAheadMs) || given.length > maxHeaderLength) return { status: 401 }
    const body = await readBytes(request)
    if (body === undefined) return { status: 413 }
    const place = `${timestamp}\n${this.#name}\n`
    const expected = `v1=${createHmac('sha256', this.#secret).update(place).update(body).digest('hex')}`
    const a = Buffer.from(given)
    const b = Buffer.from(expected)
    if (a.length !== b.length || !timingSafeEqual(a, b)) return { status: 401 }
    for (const [signature, until] of this.#seen) if (until < now) this.#seen.delete(signature)
    if (this.#seen.has(expected)) return { status: 409 }
    // Forgetting one would let it be sent again.
    if (this.#seen.size >= maxSeen) return { status: 429 }
    let data: string
    try {
      data = new TextDecoder('utf-8', { fatal: true }).decode(body)
    } catch {
      return { status: 400 }
    }
    this.#seen.set(expected, sentAt + toleranceMs)
    return { status: 202, data }
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
