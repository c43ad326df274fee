import type { Principal, ServerLimits } from './options.js'
import { ProblemError } from './problem.js'

/** Counts what each principal uses. Entries without use are dropped, so unknown callers cost no memory. */
export class UsageLimits {
  readonly #limits: ServerLimits
  readonly #now: () => number
  readonly #used = new Map<string, Used>()

  constructor(limits: ServerLimits, now: () => number) {
    this.#limits = limits
    this.#now = now
  }

  /** Counts one request against the limit per minute. */
  request(principal: Principal): void {
    const used = this.#of(principal)
    const now = this.#now()
    const { maxRequestsPerMinute: max } = this.#limits
    used.tokens = Math.min(max, used.tokens + ((now - used.at) * max) / 60_000)
    used.at = now
    if (used.tokens < 1) {
      const seconds = Math.max(1, Math.ceil(((1 - used.tokens) * 60) / max))
      throw new ProblemError('rate_limited', `More than ${max} requests in a minute.`, {
        headers: { 'retry-after': String(seconds) },
      })
    }
    used.tokens -= 1
    if (this.#used.size > maxPrincipals) this.#forget()
  }

  /** Counts a stream or a run against its limit. Returns a function that releases it. */
  take(principal: Principal, kind: 'streams' | 'runs'): () => void {
    const used = this.#of(principal)
    const max = kind === 'streams' ? this.#limits.maxStreams : this.#limits.maxRuns
    if (used[kind] >= max)
      throw new ProblemError(
        kind === 'streams' ? 'too_many_streams' : 'too_many_runs',
        `There are ${max} ${kind} of this caller already.`,
        { headers: { 'retry-after': '5' } },
      )
    used[kind] += 1
    let isTaken = true
    return () => {
      if (isTaken) used[kind] -= 1
      isTaken = false
    }
  }

  #of({ id, tenantId = '' }: Principal): Used {
    const key = JSON.stringify([tenantId, id])
    const known = this.#used.get(key)
    if (known !== undefined) return known
    const made = { tokens: this.#limits.maxRequestsPerMinute, at: this.#now(), streams: 0, runs: 0 }
    this.#used.set(key, made)
    return made
  }

  #forget(): void {
    const minuteAgo = this.#now() - 60_000
    for (const [key, { at, streams, runs }] of this.#used)
      if (at < minuteAgo && streams === 0 && runs === 0) this.#used.delete(key)
  }
}

type Used = { tokens: number; at: number; streams: number; runs: number }

const maxPrincipals = 10_000
