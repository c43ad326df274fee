import { RunError } from '../../loop/errors.js'
import type { CompletionResponse, CompletionUsage, Message } from '../../tool/completion.js'
import type { ToolResultContent } from '../../tool/content.js'
import { markErrorClass } from '../../tool/errors.js'

/** What a hook decides about a run. Nothing, or `run.continue()`, lets it continue. */
export type HookAction = { type: 'continue' } | { type: 'terminate'; reason: string }

/** The texts of an approval that a hook asks for. */
export type ToolApprovalRequestOptions = { reason?: string; rejectMessage?: string }

/** What a hook decides about one tool call. Nothing, or `tool.run()`, lets it continue. */
export type ToolCallHookAction =
  | { type: 'continue' }
  | { type: 'skip'; reason: string }
  | { type: 'terminate'; reason: string }
  | ({ type: 'approval_request' } & ToolApprovalRequestOptions)

export type RunControl = {
  continue(): HookAction
  /** Ends the run with a {@link PromptCancelledError}. */
  cancel(reason: string): HookAction
}

export type ToolCallControl = {
  run(): ToolCallHookAction
  /** Does not run the tool; the model reads the reason in place of a result. */
  skip(reason: string): ToolCallHookAction
  /** Ends the run with a {@link PromptCancelledError}. */
  cancel(reason: string): ToolCallHookAction
  /** Asks the approvals handler, in addition to the tool's own policy. */
  requestApproval(options?: ToolApprovalRequestOptions): ToolCallHookAction
}

type Awaitable<Value> = Value | Promise<Value>
// A callback that only looks returns nothing.
type Decides<Args, Action> = (args: Args) => Awaitable<Action | undefined | void>

type Asked = { prompt: Message; history: Message[] }
type Controlled = { run: RunControl }
type HookedCall = { toolName: string; toolCallId?: string; internalCallId: string; args: string }

/**
 * Looks at the steps of a prompt and decides whether it continues. It sees data as middleware leaves it; to change data use middleware.
 * What a hook throws ends the run.
 */
export interface AgentHook {
  onRunStart?: Decides<Asked & { maxTurns: number } & Controlled, HookAction>
  onRunEnd?: Decides<{ output: string; usage: CompletionUsage; messages: Message[] } & Controlled, HookAction>
  /** The run has failed; a decision changes nothing any more. */
  onRunError?: Decides<
    { error: unknown; usage: CompletionUsage; messages: Message[] } & Controlled,
    HookAction
  >
  onTurnStart?: Decides<Asked & { turn: number } & Controlled, HookAction>
  onTurnEnd?: Decides<{ turn: number; response: CompletionResponse } & Controlled, HookAction>
  onCompletionCall?: Decides<Asked & Controlled, HookAction>
  /** With this hook, what the model says is shown once it has decided. */
  onCompletionResponse?: Decides<{ prompt: Message; response: CompletionResponse } & Controlled, HookAction>
  onCompletionError?: Decides<{ prompt: Message; error: unknown } & Controlled, HookAction>
  onToolCall?: Decides<HookedCall & { tool: ToolCallControl }, ToolCallHookAction>
  /** `result` is what the model reads, also of a call that failed or did not run. */
  onToolResult?: Decides<
    HookedCall & { result: string; structuredResult?: ToolResultContent[] } & Controlled,
    HookAction
  >
  /** Called before `onToolResult` for a call that failed. */
  onToolError?: Decides<HookedCall & { error: unknown } & Controlled, HookAction>
}

/** Gives the hook its type; it is not changed. */
export function createHook(hook: AgentHook): AgentHook {
  return hook
}

/** A hook cancelled the prompt. */
export class PromptCancelledError extends RunError {
  /** The hook's own words. */
  readonly reason: string
  /** The conversation up to here. */
  declare readonly messages: readonly Message[]

  constructor(reason: string, messages: readonly Message[]) {
    super('cancelled', `The prompt was cancelled by a hook: ${reason}`)
    this.reason = reason
    // Not enumerable: a log of the error must not print the whole conversation.
    Object.defineProperty(this, 'messages', { value: messages })
  }
}

markErrorClass(PromptCancelledError, 'PromptCancelledError')

export const runControl: RunControl = {
  continue: () => ({ type: 'continue' }),
  cancel: (reason) => ({ type: 'terminate', reason }),
}

export const toolCallControl: ToolCallControl = {
  run: () => ({ type: 'continue' }),
  skip: (reason) => ({ type: 'skip', reason }),
  cancel: (reason) => ({ type: 'terminate', reason }),
  requestApproval: (options = {}) => ({ type: 'approval_request', ...options }),
}
