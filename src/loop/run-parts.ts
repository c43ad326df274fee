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

/** What a run may use up. Every limit has its option of the same name. */
export type RunLimits = {
  /** How often the model may call tools; one more answer without any is always allowed. */
  readonly maxToolRounds?: number
  /** How often in a row arguments may be no JSON at all. */
  readonly maxParseRetries?: number
  /** After how many failed requests in a row a model is not asked for 30 s. A request has failed when its last retry has. */
  readonly circuitBreakerThreshold?: number
  readonly duplicateToolCallThreshold?: number
  readonly maxExecutionTimeMs?: number
  readonly roundTimeoutMs?: number
  /** How long the model may say nothing; heartbeats do not count. */
  readonly modelIdleTimeoutMs?: number
  readonly llmApiTimeoutMs?: number
  /** The size of one answer of the model: text, reasoning and arguments, in characters. */
  readonly maxAnswerChars?: number
  /** The arguments of one call, in characters. */
  readonly maxArgumentChars?: number
  readonly maxCallsPerAnswer?: number
  /** The body of one response of the model's server after decompression, in bytes. */
  readonly maxResponseBytes?: number
  readonly maxParallelTasks?: number
  readonly continuationEnabled?: boolean
  readonly maxContinuationTurns?: number
}

/** What a run is made of. The same function serves conversations, side questions, summaries and children: only this differs. */
export type RunParts = {
  /** Called for every round, since a session may change its model. */
  model(): Model
  /** The models that are asked when that one cannot answer, in this order. */
  fallbacks?(): readonly Model[]
  /** The circuit breakers of the models; absent: there are none. */
  readonly circuits?: Circuits | undefined
  /** How failed requests are retried. */
  readonly retry?: RetryTiming | undefined
  readonly conversation: Conversation
  /** The first part of every request; the same for as long as the session lives. */
  instructions(): string | undefined | Promise<string | undefined>
  /** What the model is shown in this round; only ever longer than before. `goal` is what the user asked for. */
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
  /** What the first request alone is made with. */
  readonly firstRequest?: Pick<CompletionRequest, 'toolChoice'> | undefined
  readonly middleware?: readonly AgentMiddleware[] | undefined
  readonly budget?: Budget | undefined
  readonly compaction?: CompactionSettings | undefined
  readonly stopWhen?: readonly StopCondition[] | undefined
  /** Messages that came in while the run was at work; taken at the next safe point. */
  takeSteering?(): readonly UserMessage[]
  /** Each answer as the run takes it, after middleware; just before its `turn_end`. What it throws ends the run. */
  answered?(answer: ModelAnswer): void | Promise<void>
  /** A request with images or documents that the model does not take is refused. Without it they are left out. */
  readonly strictCapabilities?: boolean | undefined
  /** After each round whose calls have all ended and are in the conversation. */
  roundDone?(done: RoundDone): void | Promise<void>
  /**
   * Looks at the work when nothing more would be done. A message goes to the model, which works on; none lets the run end. After a stop
   * condition it ends in any case.
   */
  beforeDone?(done: WorkDone): UserMessage | undefined | Promise<UserMessage | undefined>
  /** Lets hooks see. What it throws is a notice, except from `pre_compact`, which it stops. */
  observe?(event: ObservedEvent, payload: Readonly<Record<string, unknown>>): void | Promise<void>
  /** What is kept with the prompt. */
  readonly promptFacts?: MessageFacts | undefined
  /** What an earlier run had used up that this one goes on from. */
  readonly before?: RunTotals | undefined
  /** The answer that the conversation ends with, whose calls are still to be made. Never with a prompt. */
  readonly unfinished?: UnfinishedRound | undefined
  /** The text of the answer that the conversation ends with, when nobody has looked at the work yet. Never with a prompt. */
  readonly unseen?: string | undefined
  emit(event: AgentEvent): void
  readonly signal: AbortSignal
  readonly sessionId?: string | undefined
  now(): number
}

/** A round that a run before this one did not finish: its calls go to the gate again, but for those that are settled. */
export type UnfinishedRound = {
  readonly answer: CallingAnswer
  /** By the ids of the calls: what is known of those that are not made again. */
  readonly settled: ReadonlyMap<string, Envelope>
}

/** What a round needs of the answer that it begins with. */
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

/** Where a run stands when it would end. */
export type WorkDone = {
  /** What the model said last. */
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
