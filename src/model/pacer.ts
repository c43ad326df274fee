import { performance } from 'node:perf_hooks'
import { ModelError } from './errors.js'
import type { ModelCall } from './model.js'
import { type RetryTiming, sleepUnlessAborted } from './retry.js'

/** The rate limits for a model, over all sessions that share it. */
export type RateLimit = {
  readonly requestsPerMinute?: number | undefined
  /** The maximum number of tokens of requests and answers per minute. */
  readonly tokensPerMinute?: number | undefined
}

/** The call of a model that a request belongs to; its retries are requests of the same call. */
type PacedCall = Pick<ModelCall, 'signal' | 'retry' | 'on'>

type Sleep = (ms: number, signal: AbortSignal) => Promise<void>
type Time = { now(): number; readonly sleep: Sleep }

/** One request that was admitted. */
export type Pace = {
  /** The provider has answered; its headers state the remaining limits. */
  heard(headers: { get(name: string): string | null }): void
  /** The provider rejected the request because of its rate limit, and requests this pause. */
  limited(retryAfterMs: number | undefined): void
  /** The request has ended and used this many tokens. */
  ended(tokens: number | undefined): void
}

/**
 * Limits requests to the rate that a model accepts. The limits come from the configuration and from the remaining
 * amounts in its responses. Requests wait in order. When one is rejected because of the rate, all others wait too, so
 * that many sessions do not retry one by one.
 */
export class Pacer {
  readonly #limit: RateLimit
  readonly #time: Time
  /** The requests of the last minute. */
  #sent: Sent[] = []
  /** Requests without a response, oldest first. */
  readonly #unheard = new Set<Sent>()
  readonly #left: Record<Kind, Left | undefined> = { requests: undefined, tokens: undefined }
  #pausedUntil = 0
  /** The maximum number of requests without a response, while the provider has not stated its limits. */
  #maxUnheard: number
  /** The number of the last request that was admitted before a rejection; 0 if no request was rejected. */
  #lastBeforeRefusal = 0
  /** Calls whose last request was rejected because of the rate, with `#lastBeforeRefusal` at that time. */
  readonly #refused = new WeakMap<PacedCall, number>()
  /** Waiting requests, in order. */
  readonly #queue = new Set<Waiting>()
  #count = 0
  /** When a request was last answered or ended. */
  #heardAt = Number.NEGATIVE_INFINITY
  /** The next check of the queue if no response arrives before. */
  #look: { readonly at: number; readonly stop: AbortController } | undefined

  constructor(
    limit: RateLimit = {},
    time: Time = { now: () => performance.now(), sleep: sleepUnlessAborted },
  ) {
    this.#limit = limit
    this.#time = time
    const { requestsPerMinute, tokensPerMinute } = limit
    this.#maxUnheard = (requestsPerMinute ?? tokensPerMinute) === undefined ? firstRequests : unlimited
  }

  /**
   * Waits until the request can be sent. `tokens` estimates its size, and is only called when tokens are limited. If
   * the host has its own `sleep`, that function determines how long.
   */
  admit(tokens: () => number, call: PacedCall, own?: RetryTiming | undefined): Pace | Promise<Pace> {
    const isLimited = this.#limit.tokensPerMinute !== undefined || this.#left.tokens !== undefined
    const size = isLimited ? tokens() : 0
    // A call that was rejected has already waited for the pause in its own retry delay, unless other requests were
    // rejected since.
    const waited = this.#refused.get(call)
    this.#refused.delete(call)
    const waitMs = this.#waitMs(size, waited)
    if (this.#queue.size === 0 && waitMs <= 0) return this.#start(size, call)
    const { signal } = call
    return new Promise((resolve, reject) => {
      signal.throwIfAborted()
      const leave = (): void => {
        signal.removeEventListener('abort', stop)
        this.#queue.delete(one)
      }
      const stop = (): void => one.fail(signal.reason)
      const one: Waiting = {
        size,
        call,
        waited,
        sleep: call.retry?.sleep ?? own?.sleep,
        start: () => {
          leave()
          resolve(this.#start(size, call))
        },
        fail: (error) => {
          leave()
          reject(error)
          this.#serve()
        },
      }
      signal.addEventListener('abort', stop, { once: true })
      this.#queue.add(one)
      if (one.sleep !== undefined || this.#hasRoom()) report(one, waitMs)
      if (this.#queue.size === 1) this.#serve()
    })
  }

  /**
   * Sends the waiting requests that are within the limits, in order. The first one that is not is checked again with
   * the next response.
   */
  #serve(): void {
    for (const one of this.#queue) {
      // This request uses the host's own `sleep`.
      if (one.isAsleep) return
      const waitMs = this.#waitMs(one.size, one.waited)
      if (waitMs <= 0) {
        one.start()
        continue
      }
      // A limit is reached: all later requests wait at least as long.
      if (this.#hasRoom()) for (const other of this.#queue) report(other, waitMs)
      if (one.sleep === undefined) this.#lookAgain(Math.min(waitMs, lookAgainMs))
      else {
        one.isAsleep = true
        const wake = (): void => {
          if (this.#queue.has(one)) one.start()
          this.#serve()
        }
        one.sleep(waitMs, one.call.signal).then(wake, one.fail)
      }
      return
    }
    this.#look?.stop.abort()
    this.#look = undefined
  }

  /** Checks the queue again after this time at the latest, because a limit can end without a response. */
  #lookAgain(ms: number): void {
    const at = this.#time.now() + ms
    if (this.#look !== undefined && this.#look.at <= at) return
    this.#look?.stop.abort()
    const look = { at, stop: new AbortController() }
    this.#look = look
    const end = (): void => {
      if (this.#look !== look) return
      this.#look = undefined
      // While responses arrive, a request that waits for others is sent soon, so its wait is not reported.
      if (this.#time.now() - this.#heardAt >= lookAgainMs)
        for (const one of this.#queue) report(one, lookAgainMs)
      this.#serve()
    }
    this.#time.sleep(ms, look.stop.signal).then(end, () => undefined)
  }

  /** A request was answered or has ended, so others may be sent. */
  #wake(): void {
    this.#heardAt = this.#time.now()
    if (this.#queue.size > 0) this.#serve()
  }

  #start(tokens: number, call: PacedCall): Pace {
    const sent: Sent = { number: ++this.#count, at: this.#time.now(), tokens }
    const { requestsPerMinute, tokensPerMinute } = this.#limit
    if (requestsPerMinute !== undefined || tokensPerMinute !== undefined) this.#sent.push(sent)
    this.#unheard.add(sent)
    this.#take('requests', 1)
    this.#take('tokens', tokens * estimateMargin)
    return {
      heard: (headers) => this.#heard(sent, headers),
      limited: (retryAfterMs = defaultPauseMs) => {
        const until = this.#time.now() + Math.min(retryAfterMs, windowMs)
        this.#pausedUntil = Math.max(this.#pausedUntil, until)
        // Requests that were sent together are rejected for the same reason, so only the first rejection counts.
        if (sent.number > this.#lastBeforeRefusal) {
          // No response has stated the remaining limits yet.
          if (this.#left.requests === undefined && this.#left.tokens === undefined)
            this.#maxUnheard = Math.max(1, Math.min(requestsAfterRefusal, Math.floor(this.#maxUnheard / 2)))
          this.#lastBeforeRefusal = this.#count
        }
        this.#refused.set(call, this.#lastBeforeRefusal)
      },
      ended: (used) => {
        this.#unheard.delete(sent)
        if (used !== undefined) sent.tokens = used
        this.#wake()
      },
    }
  }

  #take(kind: Kind, amount: number): void {
    const left = this.#left[kind]
    if (left !== undefined) left.amount -= amount
  }

  /**
   * Allows more requests without a response, if the current maximum was in use: until the first rejection, the maximum
   * doubles with each round of responses; then it grows by one. Sequential requests show nothing about many at once.
   * Fast responses are not counted, because with them the same number of concurrent requests is a much higher rate.
   */
  #widen(sent: Sent): void {
    if (this.#time.now() - sent.at < fastResponseMs) return
    if (this.#queue.size === 0 && this.#unheard.size < Math.floor(this.#maxUnheard)) return
    this.#maxUnheard += this.#lastBeforeRefusal === 0 ? 1 : 1 / this.#maxUnheard
  }

  #heard(sent: Sent, headers: { get(name: string): string | null }): void {
    this.#widen(sent)
    this.#unheard.delete(sent)
    // It is not known whether the provider has already counted the requests without a response.
    let tokens = 0
    for (const other of this.#unheard) tokens += other.tokens * estimateMargin
    const uncounted = { requests: this.#unheard.size, tokens }
    for (const kind of ['requests', 'tokens'] as const) {
      const said = readLeft(headers, kind)
      const known = this.#left[kind]
      // A response to a request from before the last reset contains no information about the time after it.
      if (said === undefined || sent.number < (known?.since ?? 0)) continue
      const amount = said.amount - uncounted[kind]
      const isOld = known !== undefined && sent.number < known.heard
      this.#left[kind] = {
        amount: isOld ? Math.min(known.amount, amount) : amount,
        resetAt: isOld ? known.resetAt : this.#time.now() + Math.min(said.resetMs, windowMs),
        full: said.full,
        since: known?.since ?? 0,
        heard: isOld ? known.heard : sent.number,
      }
      this.#maxUnheard = unlimited
    }
    this.#wake()
  }

  /** How long a request of this size must wait now; 0 or less means not at all. */
  #waitMs(size: number, waited: number | undefined): number {
    const now = this.#time.now()
    return Math.max(
      this.#hasRoom() ? 0 : lookAgainMs,
      waited === this.#lastBeforeRefusal ? 0 : this.#pausedUntil - now,
      this.#waitForLeft('requests', 1, now),
      this.#waitForLeft('tokens', size * estimateMargin, now),
      this.#waitForWindow(size, now),
    )
  }

  /**
   * Whether another request can be sent. A request that has been without a response for long contains no information
   * about the rate, and does not delay others.
   */
  #hasRoom(): boolean {
    const max = Math.floor(this.#maxUnheard)
    return this.#unheard.size < max || this.#onTheWay('requests', this.#time.now()) < max
  }

  #waitForLeft(kind: Kind, amount: number, now: number): number {
    const left = this.#left[kind]
    if (left === undefined) return 0
    if (now >= left.resetAt) {
      // After a reset, the full amount is available. If it is not known, one request is sent, and its response states
      // it.
      const { full = amount } = left
      const resetAt = now + (left.full === undefined ? lookAgainMs : windowMs)
      const unspent = full - this.#onTheWay(kind, now)
      this.#left[kind] = { ...left, amount: unspent, resetAt, since: this.#count + 1, heard: 0 }
      return 0
    }
    return amount <= left.amount ? 0 : left.resetAt - now
  }

  /**
   * What was sent recently and has no response: it can arrive after a reset, and then counts against the new amount.
   */
  #onTheWay(kind: Kind, now: number): number {
    let amount = 0
    for (const { at, tokens } of this.#unheard)
      if (now - at < maxOnTheWayMs) amount += kind === 'requests' ? 1 : tokens * estimateMargin
    return amount
  }

  #waitForWindow(size: number, now: number): number {
    const { requestsPerMinute = Number.POSITIVE_INFINITY, tokensPerMinute = Number.POSITIVE_INFINITY } =
      this.#limit
    const start = now - windowMs
    if (this.#sent[0] !== undefined && this.#sent[0].at <= start)
      this.#sent = this.#sent.filter(({ at }) => at > start)
    let requests = this.#sent.length
    let tokens = this.#sent.reduce((sum, one) => sum + one.tokens, 0)
    for (const one of this.#sent) {
      // A request that is larger than the limit is sent alone.
      const fits = requests < requestsPerMinute && (tokens + size <= tokensPerMinute || tokens === 0)
      if (fits) return 0
      requests--
      tokens -= one.tokens
      const isNext = requests < requestsPerMinute && (tokens + size <= tokensPerMinute || tokens === 0)
      if (isNext) return one.at + windowMs - now
    }
    return 0
  }
}

/** Makes other requests wait if this error is a rejection because of the rate limit. */
export function noteLimit(pace: Pace, error: unknown): void {
  if (error instanceof ModelError && error.code === 'model_rate_limited' && error.retryable)
    pace.limited(error.retryAfterMs)
}

/** Reports once per request that it waits. */
function report(one: Waiting, waitMs: number): void {
  if (one.isReported) return
  one.isReported = true
  one.call.on({ type: 'rate_limit_wait', waitMs: Math.max(0, Math.ceil(waitMs)) })
}

type Kind = 'requests' | 'tokens'
/** A request that waits. */
type Waiting = {
  readonly size: number
  readonly call: PacedCall
  /** The rejection whose pause this call has already waited for. */
  readonly waited: number | undefined
  /** The host's own function for waiting. */
  readonly sleep: Sleep | undefined
  isAsleep?: boolean
  isReported?: boolean
  start(): void
  readonly fail: (error: unknown) => void
}
type Sent = { readonly number: number; readonly at: number; tokens: number }
/** The remaining amount until a reset. */
type Left = {
  amount: number
  readonly resetAt: number
  /** The amount after a reset, if the provider states it. */
  readonly full: number | undefined
  /** The number of the first request after the last reset. */
  readonly since: number
  /** The number of the newest request that has a response. */
  readonly heard: number
}

const windowMs = 60_000
const lookAgainMs = 1_000
const maxOnTheWayMs = 5_000
/** The factor by which the provider's count may exceed the estimate. Its responses correct the remaining amount. */
const estimateMargin = 1.2
/** The maximum number of concurrent requests before the first response of a model states its limits. */
const firstRequests = 8
/** The same after a rejection by a provider that does not state the remaining amounts. */
const requestsAfterRefusal = 4
const fastResponseMs = 100
const unlimited = Number.POSITIVE_INFINITY
const defaultPauseMs = 1_000

type Said = { readonly amount: number; readonly resetMs: number; readonly full: number | undefined }

/** Returns the remaining amount that a response states, the time until it is reset, and the total amount. */
function readLeft(headers: { get(name: string): string | null }, kind: Kind): Said | undefined {
  const amount = amountIn(headers.get(`x-ratelimit-remaining-${kind}`))
  if (amount !== undefined)
    return {
      amount,
      resetMs: durationMs(headers.get(`x-ratelimit-reset-${kind}`)) ?? windowMs,
      full: amountIn(headers.get(`x-ratelimit-limit-${kind}`)),
    }
  const anthropic = amountIn(headers.get(`anthropic-ratelimit-${kind}-remaining`))
  if (anthropic === undefined) return undefined
  const reset = Date.parse(headers.get(`anthropic-ratelimit-${kind}-reset`) ?? '')
  return {
    amount: anthropic,
    resetMs: Number.isNaN(reset) ? windowMs : Math.max(0, reset - Date.now()),
    full: amountIn(headers.get(`anthropic-ratelimit-${kind}-limit`)),
  }
}

function amountIn(text: string | null): number | undefined {
  return text === null || text.trim() === '' || !Number.isFinite(Number(text)) ? undefined : Number(text)
}

/** Parses `1s`, `6m0s`, `120ms`, `7.66s`, or seconds as a number. */
function durationMs(text: string | null): number | undefined {
  if (text === null || text.trim() === '') return undefined
  if (Number.isFinite(Number(text))) return Number(text) * 1_000
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)]
  if (parts.length === 0) return undefined
  return parts.reduce((sum, [, amount, unit = 's']) => sum + Number(amount) * (unitMs[unit] ?? 0), 0)
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }
