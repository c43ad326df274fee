import type { Rule } from '../authority/rule.js'
import type { ModelAnswer } from '../model/model.js'
import type { Todo } from '../store/todo.js'
import type { VerificationStatus } from '../store/verification.js'
import type { ToolKind } from '../tool/contract.js'
import type { EnvelopeMetadata } from '../tool/envelope.js'
import type { JsonValue } from '../tool/json.js'
import type { Question } from '../tool/session-services.js'
import type { NetworkRequest } from '../workspace/egress/network-request.js'
import type { AskAnswer } from './ask.js'
import type { CallDecision } from './gate-parts.js'
import type { Usage } from './usage.js'

/**
 * An event of a run. `type` says which. The fields that most readers use can be read on every event, and are undefined
 * when an event has none: `text` is only set on events with new text.
 */
export type AgentEvent = WithSharedFields<EventOfRun>

/** The fields that can be read on every event. */
type SharedField =
  | 'text'
  | 'toolName'
  | 'toolId'
  | 'toolOutput'
  | 'exitCode'
  | 'turn'
  | 'prompt'
  | 'error'
  | 'reason'
  | 'message'
  | 'runId'
  | 'result'
  | 'usage'

type WithSharedFields<Event> = Event extends unknown
  ? Event & { readonly [Name in Exclude<SharedField, keyof Event>]?: undefined }
  : never

type EventOfRun =
  | AgentStart
  | AgentEnd
  | ({ readonly type: 'agent_cancelled'; readonly reason: string } & SpentEvent)
  | ({ readonly type: 'error'; readonly error: string; readonly code?: string } & SpentEvent)
  | { readonly type: 'agent_mode_changed'; readonly mode: string }
  | { readonly type: 'turn_start'; readonly turn: number }
  | { readonly type: 'turn_end'; readonly turn: number; readonly usage: Usage; readonly finish: string }
  | TextDelta
  | { readonly type: 'steered'; readonly prompt: string }
  | ModelRetry
  | ModelChange
  | ToolEvent
  | ConfirmationEvent
  | ContextEvent
  | PlanEvent
  | VerificationEvent
  | MemoryEvent
  | ClusterEvent
  | SubagentEvent
  | QueueEvent
  | ({
      readonly type: 'agent_tool_event'
      readonly toolName: string
      readonly toolId: string
      /** The id that the gate gave the call. */
      readonly callId?: string | undefined
    } & AgentToolEvent)
  /** A problem that did not stop the run: a hook that failed, a note of the sandbox. */
  | Notice
  /** A reader reconnected after events that it had not read were discarded. */
  | { readonly type: 'events_missed'; readonly count: number }

/** Something that the user should know and that does not end the run. */
export type Notice = {
  readonly type: 'notice'
  readonly source: string
  readonly message: string
  /** What the notice is about, for programs that add advice of their own. */
  readonly code?: NoticeCode | undefined
}
export type NoticeCode = 'rules_unconfirmed' | 'mcp_file_unconfirmed'

export type AgentStart = { readonly type: 'agent_start'; readonly runId: string; readonly prompt: string }
/** The run is done. Its text was streamed already and is in `result`: printing `text` of every event prints it once. */
export type AgentEnd = { readonly type: 'agent_end'; readonly runId: string; readonly result: RunSummary }

/** A piece of the answer or of its reasoning. `whole`: the complete text of the round, in place of its pieces. */
export type TextDelta = {
  readonly type: 'text_delta' | 'reasoning_delta'
  readonly text: string
  readonly whole?: true
}

/** The usage of a run that has no result; absent when it never began. */
type SpentEvent = { readonly usage?: Usage; readonly costUsd?: number }

/** The result of a run, as `send` returns it. */
export type RunSummary = {
  readonly text: string
  readonly runId: string
  readonly toolCallsCount: number
  readonly rounds: number
  readonly promptTokens: number
  readonly completionTokens: number
  readonly totalTokens: number
  /**
   * The usage of all requests to models while the run was active: its rounds, its subagents, side questions, summaries,
   * objects.
   */
  readonly usage: Usage
  /** The cost of `usage` in US dollars; absent when no price is known. */
  readonly costUsd?: number | undefined
  /** The fallback model that gave the last answer, as `provider/model`; absent when the session's own model did. */
  readonly fallbackModel?: string | undefined
  /** The models whose circuits opened during the run, as `provider/model`; absent when none did. */
  readonly circuitsOpened?: readonly string[] | undefined
  /** Why it ended: `stop`, `length`, `content_filter`, a stop condition, or the fact that it was a command. */
  readonly finish: ModelAnswer['finish'] | 'stop_condition' | 'command'
  /** How the goal of the run ended; absent when it had none. */
  readonly goal?: GoalOutcome | undefined
  readonly verificationStatus: VerificationStatus
  readonly pendingVerificationCount: number
  readonly failedVerificationCount: number
  readonly verificationReportCount: number
  readonly verificationSummary: VerificationSummary
  /** The verification summary as JSON text. */
  readonly verificationSummaryJson: string
  readonly verificationSummaryText: string
}

/**
 * Why the work towards a goal ended: the goal or a limit was reached, or the run was stopped or could not be judged.
 */
export type GoalEnd = 'met' | 'rounds' | 'time' | 'cost' | 'stopped'

/** How the work towards a goal ended. */
export type GoalOutcome = {
  readonly met: boolean
  readonly reason: GoalEnd
  /** How often it was checked. */
  readonly checks: number
  readonly elapsedMs: number
  /** US dollars since the run started; absent when no price is known. */
  readonly costUsd?: number | undefined
  /** What was missing at the last check, or what stopped the run. */
  readonly detail?: string | undefined
}

/** The outcome of a verification, in figures. */
export type VerificationSummary = {
  readonly status: VerificationStatus
  readonly report_count: number
  readonly required_check_count: number
  readonly pending_required_check_count: number
  readonly failed_check_count: number
  readonly residual_risk_count: number
  readonly pending_subjects: readonly string[]
  readonly failed_subjects: readonly string[]
}

/** An event of a verification and of its checks. */
export type VerificationEvent =
  | { readonly type: 'verification_start'; readonly subject: string; readonly checkCount: number }
  | {
      readonly type: 'verification_check_start'
      readonly subject: string
      readonly checkId: string
      readonly description: string
    }
  | {
      readonly type: 'verification_check_end'
      readonly subject: string
      readonly checkId: string
      readonly status: VerificationStatus
      readonly required: boolean
      readonly durationMs: number
      readonly exitCode?: number | undefined
    }
  | {
      readonly type: 'verification_end'
      readonly subject: string
      readonly status: VerificationStatus
      readonly failedCheckCount: number
      readonly pendingCheckCount: number
    }

export type ModelRetry = {
  readonly type: 'model_retry'
  readonly attempt: number
  /** The pause before the next attempt. */
  readonly delayMs: number
  readonly reason: string
  readonly status?: number | undefined
  /** The subagent whose request it was. */
  readonly agent?: string | undefined
}

/** An event about a model that fails, or is asked more often than it accepts. */
export type ModelChange =
  /** A request waits for the rate limit of its model, at least so long. `model` is `provider/model`. */
  | {
      readonly type: 'model_rate_limit_wait'
      readonly model: string
      readonly waitMs: number
      /** The subagent whose request it is. */
      readonly agent?: string | undefined
    }
  /** The answer was interrupted and starts again: the text of this turn so far is void. None of its calls ran. */
  | { readonly type: 'answer_restarted'; readonly turn: number; readonly reason: string }
  /** Another model answers this turn. `from` and `to` are `provider/model`. */
  | {
      readonly type: 'model_fallback'
      readonly turn: number
      readonly from: string
      readonly to: string
      readonly reason: string
      readonly code: string
      /** The subagent whose turn it is. */
      readonly agent?: string | undefined
    }
  /** Too many requests failed in a row: the model is not used for this time. */
  | {
      readonly type: 'model_circuit_opened'
      readonly model: string
      readonly failures: number
      readonly openMs: number
      readonly reason: string
      /** The subagent whose request failed last. */
      readonly agent?: string | undefined
    }

export type AgentToolEvent = {
  readonly agentId: string
  readonly agentName?: string | undefined
  readonly event: unknown
}

/** Facts by which clients choose icons and labels; absent for a tool that the session does not have. */
export type ToolFacts = { readonly kind?: ToolKind; readonly title?: string }
/** The absolute paths that a call touches; absent when it touches none. */
type TouchedPaths = { readonly paths?: readonly string[] }

export type ToolEvent =
  /** The model has begun to write a call. */
  | ({ readonly type: 'tool_start'; readonly toolId: string; readonly toolName: string } & ToolFacts)
  | { readonly type: 'tool_input_delta'; readonly toolId: string; readonly text: string }
  /** The call is complete and passes to the gate. `args` is JSON text. */
  | ({
      readonly type: 'tool_execution_start'
      readonly toolId: string
      readonly toolName: string
      readonly args: string
    } & ToolFacts &
      TouchedPaths)
  | ({
      readonly type: 'tool_output_delta'
      readonly toolId: string
      readonly toolName: string
      readonly text: string
      /** The text is a whole JSON value that replaces the earlier output. */
      readonly whole?: true | undefined
    } & ToolFacts)
  | ({
      readonly type: 'tool_end'
      readonly toolId: string
      readonly toolName: string
      readonly toolOutput: string
      readonly exitCode: number
      readonly isError: boolean
      readonly metadata: EnvelopeMetadata
      /** How the gate decided: rules, watchdog, hooks, approval; absent for a call that did not reach the gate. */
      readonly decision?: CallDecision | undefined
    } & ToolFacts &
      TouchedPaths)
  | NetworkRequestEvent
  | ({
      readonly type: 'permission_denied'
      readonly toolId: string
      readonly toolName: string
      readonly reason: string
    } & ToolFacts &
      TouchedPaths)

/**
 * A finished request of a sandboxed command through the proxy of its sandbox. The path is left out, because it can
 * contain secrets.
 */
export type NetworkRequestEvent = {
  readonly type: 'network_request'
  /** The call whose command it is. */
  readonly toolId: string
  readonly toolName: string
} & NetworkRequest &
  ToolFacts

export type ConfirmationEvent =
  | ({
      readonly type: 'confirmation_required'
      readonly toolId: string
      readonly toolName: string
      readonly args: unknown
      readonly reasons: readonly string[]
      readonly timeoutMs?: number | undefined
      /**
       * The rules that an approval for the session, or a permanent one, would add, as `onAsk` has them; absent
       * when none is safe to offer.
       */
      readonly suggestion?: readonly Rule[] | undefined
    } & ToolFacts &
      TouchedPaths)
  | {
      readonly type: 'confirmation_received'
      readonly toolId: string
      readonly approved: boolean
      readonly reason?: string | undefined
      /** The scope of the answer: once, session or always. */
      readonly decision?: AskAnswer['decision'] | undefined
      /** Who answered, if the host names them: on a server, the principal. */
      readonly by?: string | undefined
    }
  | {
      readonly type: 'confirmation_timeout'
      readonly toolId: string
      readonly actionTaken: 'rejected' | 'auto_approved'
    }
  | {
      readonly type: 'user_question'
      readonly questions: readonly Question[]
      /** The call that asks; absent for questions of subagents and MCP servers. */
      readonly toolId?: string | undefined
      /** The subagent that asks, and its task. */
      readonly agent?: string | undefined
      readonly taskId?: string | undefined
    }

export type ContextEvent =
  | {
      readonly type: 'context_compacted'
      readonly how: 'pruned' | 'summarised'
      readonly beforeMessages: number
      readonly afterMessages: number
      readonly beforeTokens: number
      readonly afterTokens: number
      readonly percentBefore: number
      readonly summary?: string | undefined
    }
  | { readonly type: 'compaction_failed'; readonly error: string }
  /** The provider charged for input that an earlier request had already sent. */
  | { readonly type: 'cache_miss'; readonly expectedTokens: number; readonly cachedTokens: number }
  | { readonly type: 'persistence_failed'; readonly operation: string; readonly error: string }

export type PlanEvent =
  | { readonly type: 'planning_start'; readonly prompt: string }
  | { readonly type: 'planning_end'; readonly plan: readonly Todo[]; readonly estimatedSteps: number }
  | { readonly type: 'task_updated'; readonly tasks: readonly Todo[] }
  | {
      readonly type: 'step_start' | 'step_end'
      readonly step: string
      readonly stepNumber: number
      readonly totalSteps: number
    }
  | {
      readonly type: 'goal_started'
      readonly description: string
      readonly check: 'commands' | 'judge'
      readonly maxRounds: number
      readonly maxTimeMs: number
      readonly maxCostUsd?: number | undefined
    }
  | {
      readonly type: 'goal_checked'
      /** The number of the check, from 1. */
      readonly check: number
      readonly met: boolean
      readonly reason: string
    }
  | ({ readonly type: 'goal_ended'; readonly description: string } & GoalOutcome)
  | { readonly type: 'goal_extracted'; readonly goal: string }
  | {
      readonly type: 'goal_progress'
      readonly goal: string
      readonly progress: number
      readonly completedSteps: number
      readonly totalSteps: number
    }
  | { readonly type: 'goal_achieved'; readonly goal: string; readonly totalSteps: number }

/** Events of tasks that were given to another agent, including nested tasks. */
export type SubagentEvent =
  | {
      readonly type: 'subagent_start'
      readonly taskId: string
      readonly sessionId: string
      readonly parentSessionId: string
      readonly agent: string
      readonly description: string
    }
  | {
      readonly type: 'subagent_progress'
      readonly taskId: string
      readonly sessionId: string
      readonly status: string
      readonly metadata: TaskCounters
    }
  | {
      readonly type: 'subagent_end'
      readonly taskId: string
      readonly sessionId: string
      readonly agent: string
      readonly output: string
      readonly success: boolean
      readonly error?: string | undefined
    }

/** An event about memories that are stored and recalled while a run is active. */
export type MemoryEvent =
  | {
      readonly type: 'memory_stored'
      readonly memoryId: string
      readonly memoryType: string
      readonly importance: number
      readonly tags: readonly string[]
    }
  /** The memories are shown to the model with the prompt. */
  | {
      readonly type: 'memory_recalled'
      readonly memoryId: string
      readonly content: string
      readonly relevance: number
    }
  | {
      readonly type: 'memories_searched'
      readonly query?: string | undefined
      readonly tags: readonly string[]
      readonly resultCount: number
    }
  | {
      readonly type: 'memory_cleared'
      readonly tier: 'long_term' | 'short_term' | 'working'
      readonly count: number
    }

/** An event of the lanes of a session. A command is a tool call that passes through a lane. */
export type QueueEvent =
  /** A call waits for a worker or, in a lane in hybrid mode, has begun here. */
  | {
      readonly type: 'external_task_pending'
      readonly taskId: string
      readonly sessionId: string
      readonly lane: string
      readonly commandType: string
      readonly payload: JsonValue
      readonly timeoutMs: number
    }
  | {
      readonly type: 'external_task_completed'
      readonly taskId: string
      readonly sessionId: string
      readonly success: boolean
    }
  | {
      readonly type: 'command_retry'
      readonly commandId: string
      readonly commandType: string
      readonly lane: string
      readonly attempt: number
      readonly delayMs: number
    }
  | {
      readonly type: 'command_dead_lettered'
      readonly commandId: string
      readonly commandType: string
      readonly lane: string
      readonly error: string
      readonly attempts: number
    }
  | {
      readonly type: 'queue_alert'
      readonly level: 'warning' | 'critical'
      readonly alertType: 'queue_depth' | 'dead_letters_full'
      readonly lane: string
      readonly message: string
    }

/** A message between a control plane and its sessions. */
export type ClusterEvent =
  | {
      readonly type: 'budget_threshold_hit'
      readonly resource: string
      readonly kind: 'soft' | 'hard'
      readonly consumed?: number | undefined
      readonly limit?: number | undefined
      readonly message?: string | undefined
    }
  | { readonly type: 'passivation_requested'; readonly reason: string; readonly deadlineMs?: number }
  | {
      readonly type: 'peer_invocation'
      readonly fromSessionId: string
      readonly fromTenantId?: string | undefined
      readonly correlationId?: string | undefined
    }

/** The `type` of an event. */
export type AgentEventType = AgentEvent['type']

/** Events about requests that failed or wait: a run that is not shown passes them to the run that it belongs to. */
export function isModelTrouble(event: AgentEvent): boolean {
  return troubles.has(event.type)
}

const troubles: ReadonlySet<AgentEventType> = new Set([
  'model_retry',
  'model_rate_limit_wait',
  'model_fallback',
  'model_circuit_opened',
])

/** Events that end a run's stream. */
export function isTerminal(event: AgentEvent): boolean {
  return event.type === 'agent_end' || event.type === 'error' || event.type === 'agent_cancelled'
}

/** The numbers of rounds, calls and tokens of a task. */
export type TaskCounters = {
  readonly rounds: number
  readonly toolCalls: number
  readonly totalTokens: number
}
