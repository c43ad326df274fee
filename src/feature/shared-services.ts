import type { GoalOutcome, RunSummary } from '../loop/events.js'
import type { Model } from '../model/model.js'
import type { GeneratedObject, ObjectRequest } from '../model/object/object-request.js'
import type { VerificationCommand, VerificationReport } from '../store/verification.js'
import type { Goal } from './goal.js'

/**
 * The services that features offer to each other. A feature does not import another feature: it requests the service
 * from its session, and works without it when no feature offers it.
 */
export interface SharedServices {
  readonly commands: CommandRegistration
  readonly servers: ServerOverview
  readonly recallGuard: RecallGuard
  readonly checks: CheckRunner
  readonly objects: ObjectGenerator
  readonly goals: GoalSetting
}

/** Runs commands as checks of the work. */
export interface CheckRunner {
  /** Returns every report of the session so far. */
  reports(): readonly VerificationReport[]
  /**
   * Runs commands one after the other, each through the gate with the permissions of the model, and saves the report.
   * `text` describes for the model what failed.
   */
  run(
    subject: string,
    commands: readonly (string | VerificationCommand)[],
    signal: AbortSignal,
  ): Promise<{ readonly report: VerificationReport; readonly text: string }>
}

/** Asks a model for data, as a request outside of the conversation. */
export interface ObjectGenerator {
  /** `model`: a model other than the session's. */
  generate(
    request: ObjectRequest,
    options: { readonly signal: AbortSignal; readonly model?: Model | undefined },
  ): Promise<GeneratedObject>
}

/** The goal of a session's runs. */
export interface GoalSetting {
  current(): Goal | undefined
  /** How the goal of the last run ended; undefined when it had none. */
  outcome(): GoalOutcome | undefined
  /**
   * Sets the goal from the argument of `/goal`: a description and commands. An empty text removes it. Throws
   * `GoalError`.
   */
  set(text: string): Goal | undefined
}

/** Slash commands that a feature adds to those of the session. */
export interface CommandRegistration {
  register(
    name: string,
    description: string,
    handler: (args: string, context: object, call: { readonly signal: AbortSignal }) => Promise<string>,
    timeoutMs?: number,
  ): void
  unregister(name: string): boolean
}

/** The servers of a session, for commands that list them. */
export interface ServerOverview {
  /** Returns the connected servers. */
  connected(): readonly { readonly name: string; readonly toolCount: number }[]
  /** Returns every server, after the configured servers had their time to start. */
  list(signal: AbortSignal): Promise<readonly ServerState[]>
}

/** An MCP server as `/mcp` lists it, including one that did not start. */
export type ServerState = {
  readonly name: string
  readonly connected: boolean
  readonly toolCount: number
  readonly state: string
  readonly confined: boolean
  readonly error?: string
}

/** Decides whether memories are shown with a prompt. */
export interface RecallGuard {
  mayRecall(query: string, signal: AbortSignal): Promise<boolean>
}

/** A run that has ended, for features that save something about it. */
export type EndedRun = {
  readonly id: string
  readonly prompt: string
  /** Returns the names of the tools that it called, each once. */
  toolNames(): readonly string[]
}

export type RunEnd =
  | { readonly result: RunSummary }
  | {
      readonly error: unknown
      /** Whether the run was cancelled or its session was closed; otherwise it failed. */
      readonly cancelled: boolean
      /** Whether the signal of the run was aborted: the caller no longer waits. */
      readonly aborted: boolean
    }
