import type { NetworkLimits } from './network-options.js'
import { explainRefusal, type NetworkRequest, type Refusal } from './network-request.js'

/** Counts the bytes that a command sends and receives, and reports each request. */
export type Traffic = {
  readonly limits: Required<{ [Name in keyof NetworkLimits]: number }>
  begin(request: Started): Exchange
  /** Whether the number of active requests has reached the connection limit of the command. */
  isBusy(): boolean
  /** Reports a refused request, and returns the text for the command. */
  refuse(request: Pick<Started, 'method' | 'scheme'>, refusal: Refusal): string
  /** Returns the refusals so far as sentences, each once. */
  refused(): string[]
  /** Reports the requests that have not ended, and those that have not been reported yet. */
  close(): void
}

type Started = Pick<NetworkRequest, 'method' | 'scheme' | 'host' | 'port' | 'rule' | 'secretHeader'>

export type Exchange = {
  /** Counts bytes; returns false when the command has reached its limit. */
  up(bytes: number): boolean
  down(bytes: number): boolean
  answered(status: number): void
  /** Ends the request with a refusal, and returns the text for the command. */
  refuse(refusal: Refusal): string
  /** Ends the request; later calls are ignored. */
  end(): void
  /** Drops the request without a report: other requests report what it carries. */
  drop(): void
}

export type TrafficOptions = {
  readonly limits?: NetworkLimits | undefined
  readonly onRequest?: ((request: NetworkRequest) => void) | undefined
  readonly now: () => number
}

/** How many requests of a command are reported individually. The others are summed up. */
const maxReported = 500
const maxSentences = 20

export function createTraffic({ limits = {}, onRequest, now }: TrafficOptions): Traffic {
  const set = {
    maxConnections: limits.maxConnections ?? 256,
    idleMs: limits.idleMs ?? 120_000,
    maxMs: limits.maxMs ?? 3_600_000,
    maxUploadBytes: limits.maxUploadBytes ?? 2 ** 30,
    maxDownloadBytes: limits.maxDownloadBytes ?? 2 ** 34,
  }
  const sentences = new Set<string>()
  const sums = new Map<string, NetworkRequest>()
  const total = { up: 0, down: 0 }
  const open = new Set<() => void>()
  let reported = 0
  let isClosed = false

  const report = (request: NetworkRequest): void => {
    if (isClosed) return
    if (reported < maxReported) {
      reported++
      onRequest?.(request)
      return
    }
    const { method, scheme, host, port, verdict, code, rule } = request
    // The hosts of refused requests are not part of the key, because there can be any number of them.
    const key = JSON.stringify([
      method,
      scheme,
      verdict,
      code,
      verdict === 'allowed' ? [host, port, rule] : '',
    ])
    const sum = sums.get(key)
    if (sum === undefined && sums.size >= maxReported) return
    sums.set(key, sum === undefined ? { ...request, count: 1 } : added(sum, request))
  }
  const explain = (refusal: Refusal): string => {
    const words = explainRefusal(refusal)
    if (sentences.size < maxSentences) sentences.add(words)
    return words
  }

  return {
    limits: set,
    isBusy: () => open.size >= set.maxConnections,
    begin(started) {
      const startedAt = now()
      const own = { up: 0, down: 0 }
      let status: number | undefined
      let isOver = false
      const finish = (how: Pick<NetworkRequest, 'verdict' | 'code' | 'rule'>): void => {
        if (isOver) return
        isOver = true
        open.delete(end)
        report({
          ...started,
          ...how,
          status,
          bytesUp: own.up,
          bytesDown: own.down,
          durationMs: Math.max(0, Math.round(now() - startedAt)),
        })
      }
      const end = (): void => finish({ verdict: 'allowed', rule: started.rule })
      open.add(end)
      const count = (way: 'up' | 'down', bytes: number, most: number): boolean => {
        own[way] += bytes
        total[way] += bytes
        return total[way] <= most
      }
      return {
        up: (bytes) => count('up', bytes, set.maxUploadBytes),
        down: (bytes) => count('down', bytes, set.maxDownloadBytes),
        answered(code) {
          status = code
        },
        refuse(refusal) {
          const failed = refusal.refused === 'unreachable'
          finish({
            verdict: failed ? 'allowed' : 'refused',
            code: refusal.refused,
            rule: refusal.rule ?? started.rule,
          })
          return failed ? explainRefusal(refusal) : explain(refusal)
        },
        end,
        drop() {
          isOver = true
          open.delete(end)
        },
      }
    },
    refuse(request, refusal) {
      const { host, port, rule, refused: code } = refusal
      report({
        ...request,
        host,
        port,
        verdict: 'refused',
        code,
        rule,
        bytesUp: 0,
        bytesDown: 0,
        durationMs: 0,
      })
      return explain(refusal)
    },
    refused: () => [...sentences],
    close() {
      for (const end of [...open]) end()
      for (const sum of sums.values()) onRequest?.(sum)
      sums.clear()
      isClosed = true
    },
  }
}

function added(sum: NetworkRequest, request: NetworkRequest): NetworkRequest {
  return {
    ...sum,
    status: sum.status === request.status ? sum.status : undefined,
    bytesUp: sum.bytesUp + request.bytesUp,
    bytesDown: sum.bytesDown + request.bytesDown,
    durationMs: sum.durationMs + request.durationMs,
    count: (sum.count ?? 1) + 1,
  }
}
