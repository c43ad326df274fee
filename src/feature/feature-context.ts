import type { AskHandler } from '../loop/ask.js'
import type { Budget } from '../loop/budget.js'
import type { Conversation } from '../loop/conversation.js'
import type { AgentEvent } from '../loop/events.js'
import type { Gate } from '../loop/gate.js'
import type { RunParts } from '../loop/run-parts.js'
import type { SessionAuthority } from '../loop/session-authority.js'
import type { Usage } from '../loop/usage.js'
import type { Model } from '../model/model.js'
import type { PartRow } from '../store/records.js'
import type { SessionState, StoredMessage } from '../store/session-state.js'
import type { AnyTool } from '../tool/contract.js'
import type { ToolResult } from '../tool/tool-result.js'
import type { Workspace } from '../workspace/open-workspace.js'
import type { ContextUsage } from './context-usage.js'
import type { SessionLabels } from './labels.js'
import type { AskQuestions } from './question.js'
import type { SessionFeature } from './session-feature.js'
import type { SharedServices } from './shared-services.js'

/**
 * The session as a feature sees it. `Options` are the session options that the feature reads, `Setup` is what the agent
 * passes to it in addition.
 */
export interface FeatureContext<Options = object, Setup = object> {
  readonly sessionId: string
  readonly agentId: string
  /** The real path of the workspace, on this machine or on its backend. */
  readonly root: string
  /** The directory of this machine with the project's own files; undefined when the workspace is elsewhere. */
  readonly projectRoot: string | undefined
  /** The user's own directory: rules, instructions, skills and agents for every project. */
  readonly userDir: string
  readonly options: Options
  readonly setup: Setup
  readonly labels: SessionLabels
  /** The state of this session that the store had when the session was opened. */
  readonly restored: SessionState | undefined
  /** Set in the session of a subagent. */
  readonly parent: ParentSession | undefined

  readonly tools: SessionTools
  readonly log: FeatureLog
  readonly confirmations: SessionConfirmations
  readonly questions: SessionQuestions
  readonly redactor: TextRedactor
  readonly spending: SessionSpending
  /** The active run. */
  readonly activeRunId: string | undefined
  readonly queue: {
    /** Returns false when no such run is queued or active. */
    cancel(runId: string, reason: string): boolean
  }

  /** Aborted when the session is closed. */
  readonly signal: AbortSignal
  readonly isClosed: boolean
  /** Throws `SessionClosedError` once the session is closed. */
  assertOpen(): void
  now(): number
  newId(): string
  /** Emits an event of the active run. Without an active run, the event is dropped. */
  emit(event: AgentEvent): void

  /** Returns the state of a feature in this session, created at the first use. */
  use<State>(feature: SessionFeature<State>): State
  /** Returns the state of a feature, if it was used before. */
  peek<State>(feature: SessionFeature<State>): State | undefined
  /** Returns a service of another feature; undefined when no feature offers it. */
  service<Name extends keyof SharedServices>(name: Name): SharedServices[Name] | undefined
  /** Reports a point in the session's life to the features that observe it, such as hooks. */
  observe(event: string, payload: Readonly<Record<string, unknown>>, signal?: AbortSignal): Promise<void>

  /** The workspace, the rules and the gate, opened at the first use. */
  readonly engine: { open(): Promise<Engine> }
  /** Calls a tool directly for the host: through the gate like every call, with the host's privileges. */
  callTool(name: string, args: unknown, signal?: AbortSignal): Promise<ToolResult>
  /** Whether a tool of this name comes with the package. */
  isBuiltinTool(name: string): boolean

  readonly models: {
    current(): Model
    set(name: string): Promise<void>
  }
  /** The system prompt: created once, and then the same for the whole session. */
  readonly prompt: { text(): Promise<string> }
  /** Returns what a run of the loop needs, for a separate conversation or the session's. */
  loopParts(signal: AbortSignal, conversation: Conversation): Promise<RunParts>
  /** Replaces old messages by a summary. Returns undefined when there was nothing to do. */
  compact(
    signal: AbortSignal,
    options?: { readonly focus?: string | undefined },
  ): Promise<{ readonly beforeMessages: number; readonly afterMessages: number } | undefined>
  /** Measures what fills the context window of the model. */
  contextUsage(signal: AbortSignal): Promise<ContextUsage>
}

/**
 * The parts of a session with access to files, processes and the network: opened when first needed, closed with the
 * session.
 */
export type Engine = {
  readonly workspace: Workspace
  readonly authority: SessionAuthority
  readonly gate: Gate
}

export type ParentSession = {
  readonly session: FeatureContext
  /** 1 for the child of a session that has no parent. */
  readonly depth: number
}

/** The tools of a session. */
export interface SessionTools {
  get(name: string): AnyTool | undefined
  names(): readonly string[]
  all(): readonly AnyTool[]
  /** Whether the model is shown the tool. */
  isShown(name: string): boolean
  /** Shows tools to the model from the next round. */
  offer(names: readonly string[]): void
  addAll(tools: readonly AnyTool[]): void
  removeAll(names: readonly string[]): void
  /** Whether this is one of the tools that only the host can call. */
  isHostTool(tool: AnyTool): boolean
}

/** What a session writes to its log. */
export interface FeatureLog {
  readonly conversation: SessionConversation
  /** Absent without a store. */
  readonly recorder: FeatureRecorder | undefined
  /** Returns the run that file changes made now are attributed to. */
  changesOwner(): string
}

/** A conversation whose messages have ids. */
export interface SessionConversation extends Conversation {
  /** The messages with their ids, in order. */
  readonly kept: readonly StoredMessage[]
  /** All messages in order, including compactions and hidden messages. */
  readonly order: readonly StoredMessage[]
  /** The number of messages at the beginning that are only in the log, because of `retentionLimits.maxMessages`. */
  readonly trimmed: number
}

export interface SessionConfirmations {
  readonly ask: AskHandler
  /** Rejects a question whose asker no longer waits. */
  withdraw(toolId: string, reason: string): void
}

export interface SessionQuestions {
  /** Asks the user questions and waits for the answers; undefined when no user can answer. */
  readonly ask: AskQuestions | undefined
}

/** Writes to the log of a session. */
export interface FeatureRecorder {
  /** Resolves when the note is written. */
  note(content: PartRow['content']): Promise<void>
}

/** Removes secrets from texts. */
export interface TextRedactor {
  /** Redacts a text for the host. */
  text(text: string): string
  /** Redacts a text for the model that is not the result of a tool. */
  forModel(text: string): string
  /** Redacts a text for the log; absent when there is nothing to redact. */
  readonly record?: (text: string) => string
  /** Redacts texts that have the form of a key or token, regardless of the session's own provider. */
  tokens(text: string, target: 'model' | 'record'): string
  /** Redacts the events of one run: text that arrives in pieces is checked across their boundaries. */
  events(pass: (event: AgentEvent) => void): (event: AgentEvent) => void
  /** Removes the configuration's keys from a value, for the conversation and for hooks; absent without keys. */
  readonly withoutKeys?: <Value>(value: Value) => Value
}

/** What a session spends, and the budget that limits it. */
export interface SessionSpending {
  /** Tokens and cost of all model requests of the session. */
  readonly total: {
    readonly usage: Usage
    readonly costUsd: number | undefined
    readonly models: readonly {
      readonly model: string
      readonly usage: Usage
      readonly costUsd?: number
    }[]
  }
  readonly budget: Budget
  /** Writes the spending of requests outside runs to the log. */
  save(): Promise<void>
}
