import type { AssistantContent, CompletionRequest, CompletionUsage } from '../tool/completion.js'
import type { AnswerLimits } from './answer-limits.js'
import type { RetryTiming } from './retry.js'

/**
 * One language model, as a run uses it. It receives a request, emits the output as events, and returns the whole
 * answer. Code that uses a model does not depend on its provider.
 */
export interface Model {
  /** The provider's name, such as `openai`. */
  readonly provider: string
  /** The id of the model in requests. */
  readonly id: string
  readonly facts: ModelFacts
  /** Sends a request. Rejects with a {@link ModelError}, or with the signal's reason when it is aborted. */
  answer(request: CompletionRequest, call: ModelCall): Promise<ModelAnswer>
}

/** The known properties of a model. */
export type ModelFacts = {
  /** The maximum tokens of a request and its answer together. */
  readonly contextTokens: number
  /** `contextTokens` is a guess: nothing is known about the model. */
  readonly contextAssumed?: boolean
  readonly outputTokens?: number
  readonly tools: boolean
  readonly images: boolean
  /** Whether it reads PDF files. */
  readonly documents: boolean
  /** Whether it accepts audio and video. Absent: no. */
  readonly audio?: boolean
  readonly video?: boolean
  readonly reasoning: boolean
  /** The levels of reasoning that it accepts, from low to high. Absent: not known. */
  readonly reasoningLevels?: readonly ReasoningLevel[]
  /** Whether it accepts a temperature. */
  readonly temperature: boolean
  /** Whether the provider itself enforces a JSON Schema. Absent: not known. */
  readonly structuredOutput?: boolean
  /** US dollars per million tokens. */
  readonly price?: ModelPrice
}

/** How much a model reasons before it answers. */
export type ReasoningLevel = 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max'

/**
 * How long a provider caches the start of a request for the next one. `off`: requests have no cache marks. A provider
 * with other times uses the nearest longer one, otherwise its longest.
 */
export type PromptCache = 'off' | '5m' | '1h' | '24h'

/** The prices of a model, in US dollars per million tokens. */
export type ModelPrice = {
  readonly input: number
  readonly output: number
  readonly cacheRead?: number
  readonly cacheWrite?: number
  /** Other prices of long requests. */
  readonly tiers?: readonly PriceTier[]
}

/** The prices of a request with more than this many input tokens. */
export type PriceTier = Omit<ModelPrice, 'tiers'> & { readonly aboveInputTokens: number }

/** Options of one request. */
export type ModelCall = {
  readonly signal: AbortSignal
  on(event: ModelEvent): void
  /** Called between chunks of the response. While its promise is pending, nothing more is read. */
  readonly drain?: () => Promise<void> | undefined
  readonly sessionId?: string
  /** Additional headers of HTTP requests to this URL, such as a `traceparent`. */
  readonly headersFor?: ((url: string) => Readonly<Record<string, string>> | undefined) | undefined
  /** How long the model can send nothing; heartbeats of the connection do not count. */
  readonly idleTimeoutMs?: number
  /** The time limit of one attempt. */
  readonly timeoutMs?: number
  readonly maxAttempts?: number | undefined
  /**
   * Whether the caller discards what it received when a `retry` event has `restart`. Otherwise, a request whose answer
   * had started is not sent again.
   */
  readonly restarts?: boolean | undefined
  /** How the request is retried; overrides the settings of the model. */
  readonly retry?: RetryTiming | undefined
  /** The limits of one answer. */
  readonly limits?: AnswerLimits | undefined
}

/** An event while a model answers: a piece of text, reasoning or a call, a retry, or a wait for its rate limit. */
export type ModelEvent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string }
  /** A tool call has started; its arguments follow in pieces. */
  | { readonly type: 'tool_call'; readonly id: string; readonly name: string }
  | { readonly type: 'tool_input'; readonly id: string; readonly text: string }
  /** The request is not sent yet, because of the rate limit of the model. It waits at least this long. */
  | { readonly type: 'rate_limit_wait'; readonly waitMs: number }
  /** An attempt failed, and another follows after the delay. */
  | {
      readonly type: 'retry'
      readonly attempt: number
      readonly delayMs: number
      readonly reason: string
      readonly status?: number
      /**
       * Whether the failed attempt had started its answer: everything it emitted is void, and the answer starts again.
       */
      readonly restart?: true
    }

/**
 * A tool call of the model. `input` is the JSON text as the model wrote it; `callId` the second id of some providers.
 */
export type ModelToolCall = {
  readonly id: string
  readonly name: string
  readonly input: string
  readonly callId?: string
}

/** The tokens of one request. */
export type ModelUsage = CompletionUsage & {
  cacheWriteTokens?: number
  /** Whether the usage is an estimate, because the provider sent none: characters divided by four. */
  estimated?: true
}

/** Why a model ended its answer. */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'other'

/** The whole answer of a model. */
export type ModelAnswer = {
  /** The content for the history. */
  readonly content: AssistantContent[]
  readonly text: string
  /** Every call has a unique id, even if the provider repeats ids. */
  readonly toolCalls: readonly ModelToolCall[]
  readonly usage: ModelUsage
  readonly finish: FinishReason
  /** The provider's own response, if the model has it as one value. Not recorded. */
  readonly raw?: unknown
  readonly response: {
    readonly id?: string
    readonly model?: string
    readonly url?: string
    readonly firstTokenMs?: number
  }
}
