import type { RunSummary } from '../loop/events.js'

/**
 * What features offer to each other. A feature does not import another one: it asks its session for the service, and
 * works without where no feature offers it.
 */
export interface SharedServices {
  readonly commands: CommandRegistration
  readonly servers: ServerOverview
  readonly recallGuard: RecallGuard
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
  /** Those that are connected. */
  connected(): readonly { readonly name: string; readonly toolCount: number }[]
  /** Every server, once those that are configured had their time to start. */
  list(signal: AbortSignal): Promise<readonly ServerState[]>
}

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

/** A run that has ended, for features that keep something of it. */
export type EndedRun = {
  readonly id: string
  readonly prompt: string
  /** The names of the tools that it called, each once. */
  toolNames(): readonly string[]
}

export type RunEnd =
  | { readonly result: RunSummary }
  | {
      readonly error: unknown
      /** The run was cancelled or its session closed; otherwise it failed. */
      readonly cancelled: boolean
      /** Its signal was aborted: the caller does not wait any longer. */
      readonly aborted: boolean
    }
