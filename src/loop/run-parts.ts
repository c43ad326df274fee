import type { Circuits } from '../model/circuits.js'
import type { Model, ModelAnswer } from '../model/model.js'
import type { RetryTiming } from '../model/retry.js'
import type { CompletionRequest, UserMessage } from '../tool/completion.js'
import type { ToolDefinition } from '../tool/definition.js'
import type { Envelope } from '../tool/envelope.js'
import type { AgentMiddleware } from '../tool/middleware.js'
import type { Budget } from './budget.js'
import type { CompactionSettings } from './compaction/settings.js'
import type { Conversation, MessageFacts } from './conversation.js'
import type { AgentEvent } from './events.js'
import type { Gate } from './gate.js'
import type { StopCondition } from './stop-conditions.js'
import type { Usage } from './usage.js'

/** The limits of a run. Each has an option of the same name. */
export type RunLimits = {
  /** The maximum number of answers with tool calls; one more answer without any is always allowed. */
  readonly maxToolRounds?: number
  /** How many consecutive arguments can be invalid JSON. */
  readonly maxParseRetries?: number
  /**
   * After this many failed requests in a row a model is not used for 30 s. A request has failed when its last retry
   * has.
   */
  readonly circuitBreakerThreshold?: number
  readonly duplicateToolCallThreshold?: number
  readonly maxExecutionTimeMs?: number
  readonly roundTimeoutMs?: number
  /** How long the model's stream can be silent; heartbeats do not count. */
  readonly modelIdleTimeoutMs?: number
  readonly llmApiTimeoutMs?: number
  /** The maximum size of one answer of the model: text, reasoning and arguments, in characters. */
  readonly maxAnswerChars?: number
  /** The maximum size of the arguments of one call, in characters. */
  readonly maxArgumentChars?: number
  readonly maxCallsPerAnswer?: number
  /** The maximum body of one response of the model's server after decompression, in bytes. */
  readonly maxResponseBytes?: number
  readonly maxParallelTasks?: number
  readonly continuationEnabled?: boolean
  readonly maxContinuationTurns?: number
}

/**
 * The parts that a run uses. Conversations, side questions, summaries and subagents use the same loop with other
 * parts.
 */
export type RunParts = {
  /** Called for every round, since a session can change its model. */
  model(): Model
  /** The models that are used when that one cannot answer, in this order. */
  fallbacks?(): readonly Model[]
  /** The circuit breakers of the models; absent: there are none. */
  readonly circuits?: Circuits | undefined
  /** How failed requests are retried. */
  readonly retry?: RetryTiming | undefined
  readonly conversation: Conversation
  /** The first part of every request; the same for the whole session. */
  instructions(): string | undefined | Promise<string | undefined>
  /** The tools that the model is shown in this round; the list only grows. `goal` is what the user asked for. */
  tools?(goal: string, turn: number): readonly ToolDefinition[] | Promise<readonly ToolDefinition[]>
  /** Absent: calls are answered with a refusal. */
  readonly gate?: Gate | undefined
  readonly limits?: RunLimits | undefined
  /** The name of the option that `maxToolRounds` came from, for the message. */
  readonly roundsOption?: string | undefined
  readonly request?: Pick<
    Partial<CompletionRequest>,
    'temperature' | 'maxTokens' | 'toolChoice' | 'additionalParams' | 'documents' | 'outputSchema'
  >
  /** Settings of the first request only. */
  readonly firstRequest?: Pick<CompletionRequest, 'toolChoice'> | undefined
  readonly middleware?: readonly AgentMiddleware[] | undefined
  readonly budget?: Budget | undefined
  readonly compaction?: CompactionSettings | undefined
  readonly stopWhen?: readonly StopCondition[] | undefined
  /** Returns messages that arrived during the run; called at the next safe point. */
  takeSteering?(): readonly UserMessage[]
  /** Called with each answer after middleware, just before its `turn_end`. An error ends the run. */
  answered?(answer: ModelAnswer): void | Promise<void>
  /** Refuses a request with images or documents that the model does not support. Absent: they are left out. */
  readonly strictCapabilities?: boolean | undefined
  /** Called when a call has ended, before its round has. */
  callEnded?(callId: string, envelope: Envelope): void
  /** Called after each round whose calls have all ended and are in the conversation. */
  roundDone?(done: RoundDone): void | Promise<void>
  /**
   * Checks the work when the run would end. A returned message goes to the model, which continues; without one the run
   * ends. After a stop condition it ends in any case.
   */
  beforeDone?(done: WorkDone): UserMessage | undefined | Promise<UserMessage | undefined>
  /** Called when a request to a model begins. Returns the functions to call when it ends. */
  watchRequest?(model: Model, request: CompletionRequest): RequestWatch | undefined
  /** Returns whether a report of this event has an effect. Absent: every report has. */
  isObserved?(event: ObservedEvent): boolean
  /** Reports to hooks. An error becomes a notice; an error from `pre_compact` stops the compaction. */
  observe?(event: ObservedEvent, payload: Readonly<Record<string, unknown>>): void | Promise<void>
  /** Facts that are stored with the prompt. */
  readonly promptFacts?: MessageFacts | undefined
  /** The totals of an earlier run that this one continues. */
  readonly before?: RunTotals | undefined
  /** The answer that the conversation ends with, whose calls are still to be made. Never with a prompt. */
  readonly unfinished?: UnfinishedRound | undefined
  /**
   * The text of the answer that the conversation ends with, when `beforeDone` has not checked it yet. Never with a
   * prompt.
   */
  readonly unseen?: string | undefined
  emit(event: AgentEvent): void
  readonly signal: AbortSignal
  readonly sessionId?: string | undefined
  now(): number
}

/** Observes one request to a model. Exactly one of the two is called, once. */
export type RequestWatch = {
  answered(answer: ModelAnswer): void
  /** Also called when the run was cancelled meanwhile. */
  failed(error: unknown): void
  /** Additional headers of its HTTP requests to this URL. */
  readonly headersFor?: ((url: string) => Readonly<Record<string, string>> | undefined) | undefined
}

/** A round that an earlier run did not finish: its calls go to the gate again, except the settled ones. */
export type UnfinishedRound = {
  readonly answer: CallingAnswer
  /** The results of calls that are not made again, by the id of the call. */
  readonly settled: ReadonlyMap<string, Envelope>
}

/** The fields of an answer that a round needs. */
export type CallingAnswer = Pick<ModelAnswer, 'text' | 'toolCalls' | 'finish'>

export type RunTotals = {
  readonly usage: Usage
  readonly costUsd?: number | undefined
  readonly rounds: number
  readonly toolRounds: number
  readonly toolCallsCount: number
}

export type ObservedEvent =
  | 'generate_start'
  | 'generate_end'
  | 'on_rate_limit'
  | 'pre_compact'
  | 'post_compact'
  | 'on_error'

/** The state of a run that would end. */
export type WorkDone = {
  /** The last text of the model. */
  readonly text: string
  readonly finish: ModelAnswer['finish'] | 'stop_condition'
  readonly signal: AbortSignal
}

export type RoundDone = {
  readonly round: number
  readonly toolCallsCount: number
  readonly messages: number
  /** Of the run so far. */
  readonly usage: Usage
}
