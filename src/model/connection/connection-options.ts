import type { PromptCache } from '../model.js'
import type { RateLimit } from '../pacer.js'
import type { RetryTiming } from '../retry.js'

/** How the requests of a model are sent. */
export type ConnectionOptions = {
  /** The URL of an HTTP proxy, or `off`. Default: `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` of the environment. */
  readonly proxy?: string | undefined
  /** A file with certificates (PEM) that are trusted in addition to the usual ones. */
  readonly caFile?: string | undefined
  /** Sends the requests in place of Node's client; `proxy` and `caFile` do not apply to it. */
  readonly fetch?: typeof globalThis.fetch | undefined
}

/** Settings that models of every protocol have. */
export type ModelSettings = ConnectionOptions & {
  readonly provider: string
  readonly id: string
  readonly apiKey?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly promptCache?: PromptCache | undefined
  /** The rate limits for the model. Without it, only those that its responses state. */
  readonly rateLimit?: RateLimit | undefined
  readonly retry?: RetryTiming | undefined
}
