import type { AssistantContent, CompletionRequest, CompletionUsage } from '../tool/completion.js'
import type { AnswerLimits } from './answer-limits.js'
import type { RetryTiming } from './retry.js'

/**
 * One language model, as a run sees it. A request goes in, what the model says is handed on as it comes, and the whole answer comes
 * out. Whatever speaks to a provider hides behind this.
 */
export interface Model {
  /** The provider's name, such as `openai`. */
  readonly provider: string
  /** The bare id that goes over the wire. */
  readonly id: string
  readonly facts: ModelFacts
  /** Rejects with a {@link ModelError}, or with the signal's reason once it is aborted. */
  answer(request: CompletionRequest, call: ModelCall): Promise<ModelAnswer>
}

/** What is known of a model. */
export type ModelFacts = {
  /** How many tokens a request and its answer may have together. */
  readonly contextTokens: number
  /** `contextTokens` is a guess: nothing is known about the model. */
  readonly contextAssumed?: boolean
  readonly outputTokens?: number
  readonly tools: boolean
  readonly images: boolean
  readonly documents: boolean
  readonly reasoning: boolean
  /** Whether it takes a temperature. */
  readonly temperature: boolean
  /** Whether the provider itself holds an answer to a JSON Schema. Absent: not known. */
  readonly structuredOutput?: boolean
  /** US dollars for a million tokens. */
  readonly price?: ModelPrice
}
export type ModelPrice = {
  readonly input: number
  readonly output: number
  readonly cacheRead?: number
  readonly cacheWrite?: number
}

/** What goes with one request. */
export type ModelCall = {
  readonly signal: AbortSignal
  on(event: ModelEvent): void
  /** Asked between pieces of the wire: while the promise it gives is pending nothing more is read. */
  readonly drain?: () => Promise<void> | undefined
  readonly sessionId?: string
  /** How long the model may say nothing; heartbeats of the wire do not count. */
  readonly idleTimeoutMs?: number
  /** How long one attempt may take altogether. */
  readonly timeoutMs?: number
  readonly maxAttempts?: number | undefined
  /**
   * The caller drops what it was given when a `retry` event says `restart`. Without it, a request whose answer had begun is not sent
   * again.
   */
  readonly restarts?: boolean | undefined
  /** How the request is retried; goes before what the model was made with. */
  readonly retry?: RetryTiming | undefined
  /** How much is taken of one answer. */
  readonly limits?: AnswerLimits | undefined
}

export type ModelEvent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string }
  /** A tool call has begun; its arguments follow in pieces. */
  | { readonly type: 'tool_call'; readonly id: string; readonly name: string }
  | { readonly type: 'tool_input'; readonly id: string; readonly text: string }
  /** An attempt failed, and another follows after the pause. */
  | {
      readonly type: 'retry'
      readonly attempt: number
      readonly delayMs: number
      readonly reason: string
      readonly status?: number
      /** The failed attempt had begun its answer: everything it said is void, and the answer starts again. */
      readonly restart?: true
    }

/** `input` is the JSON text as the model wrote it; `callId` the second id that some providers give a call. */
export type ModelToolCall = {
  readonly id: string
  readonly name: string
  readonly input: string
  readonly callId?: string
}

export type ModelUsage = CompletionUsage & {
  cacheWriteTokens?: number
  /** The provider counted nothing: these are characters divided by four. */
  estimated?: true
}

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'other'

export type ModelAnswer = {
  /** As it goes into the history. */
  readonly content: AssistantContent[]
  readonly text: string
  /** Every call has an id of its own, whatever the provider sent. */
  readonly toolCalls: readonly ModelToolCall[]
  readonly usage: ModelUsage
  readonly finish: FinishReason
  /** The provider's own response, where the model has it as one value. Not recorded. */
  readonly raw?: unknown
  readonly response: {
    readonly id?: string
    readonly model?: string
    readonly url?: string
    readonly firstTokenMs?: number
  }
}
