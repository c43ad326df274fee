import type { ContextUsage } from '../feature/context-usage.js'
import type { Goal } from '../feature/goal.js'
import type { ServerState } from '../feature/shared-services.js'

/** The state of the session that a command gets. */
export type CommandContext = {
  readonly sessionId: string
  readonly workspace: string
  /** `provider/id`. */
  readonly model: string
  readonly historyLen: number
  readonly totalTokens: number
  /** US dollars; absent when the model's price is not known. */
  readonly totalCost?: number
  readonly toolNames: readonly string[]
  readonly mcpServers: readonly { readonly name: string; readonly toolCount: number }[]
}

/**
 * Runs a slash command. `args` is the text after the name, trimmed. `signal` is aborted when the caller no longer
 * waits.
 */
export type CommandHandler = (
  args: string,
  context: CommandContext,
  call: { readonly signal: AbortSignal },
) => string | Promise<string>

/** A slash command in a list of commands. */
export type CommandInfo = {
  readonly name: string
  readonly description: string
  readonly usage?: string
}

/** The session as the built-in commands use it. Its errors are returned as the text of the command. */
export interface CommandSession {
  context(): CommandContext
  /** Tokens by kind, if known. */
  usage?(): { readonly promptTokens: number; readonly completionTokens: number }
  /** Tokens and cost of each model that was used, if known. */
  models?(): readonly {
    readonly model: string
    readonly usage: { readonly totalTokens: number }
    readonly costUsd?: number
  }[]
  isBuiltinTool(name: string): boolean
  /** Returns every MCP server, after the configured ones had their time to start. */
  mcpServers(signal: AbortSignal): Promise<readonly ServerState[]>
  /** Accepts `provider/id`. */
  setModel(name: string): void | Promise<void>
  /** Undefined when there was nothing to compact. */
  compact(
    signal: AbortSignal,
    options: { readonly focus?: string | undefined },
  ): Promise<{ readonly beforeMessages: number; readonly afterMessages: number } | undefined>
  /** The goal of the next runs. `set` accepts a description with commands; an empty text removes the goal. */
  readonly goals?: { current(): Goal | undefined; set(text: string): Goal | undefined } | undefined
  contextUsage(signal: AbortSignal): Promise<ContextUsage>
  clearHistory(): void | Promise<void>
}
