import { RunError } from '../../loop/errors.js'
import type { CompletionResponse, CompletionUsage, Message } from '../../tool/completion.js'
import type { ToolResultContent } from '../../tool/content.js'
import { markErrorClass } from '../../tool/errors.js'

/** The decision of a hook about a run. Without a decision, or with `run.continue()`, the run continues. */
export type HookAction = { type: 'continue' } | { type: 'terminate'; reason: string }

/** The texts of an approval that a hook asks for. */
export type ToolApprovalRequestOptions = { reason?: string; rejectMessage?: string }

/** The decision of a hook about a tool call. Without a decision, or with `tool.run()`, the call runs. */
export type ToolCallHookAction =
  | { type: 'continue' }
  | { type: 'skip'; reason: string }
  | { type: 'terminate'; reason: string }
  | ({ type: 'approval_request' } & ToolApprovalRequestOptions)

/** The decisions of a hook about a run. */
export type RunControl = {
  continue(): HookAction
  /** Ends the run with a {@link PromptCancelledError}. */
  cancel(reason: string): HookAction
}

/** The decisions of a hook about a tool call. */
export type ToolCallControl = {
  run(): ToolCallHookAction
  /** Does not run the tool; the model reads the reason instead of a result. */
  skip(reason: string): ToolCallHookAction
  /** Ends the run with a {@link PromptCancelledError}. */
  cancel(reason: string): ToolCallHookAction
  /** Asks the approvals handler, in addition to the policy of the tool. */
  requestApproval(options?: ToolApprovalRequestOptions): ToolCallHookAction
}

type Awaitable<Value> = Value | Promise<Value>
// A callback that only observes returns nothing.
type Decides<Args, Action> = (args: Args) => Awaitable<Action | undefined | void>

type Asked = { prompt: Message; history: Message[] }
type Controlled = { run: RunControl }
type HookedCall = { toolName: string; toolCallId?: string; internalCallId: string; args: string }

/**
 * Observes the steps of a prompt and decides whether it continues. It sees the data after middleware; to change data,
 * use middleware. An error in a hook ends the run.
 */
export interface AgentHook {
  onRunStart?: Decides<Asked & { maxTurns: number } & Controlled, HookAction>
  onRunEnd?: Decides<{ output: string; usage: CompletionUsage; messages: Message[] } & Controlled, HookAction>
  /** The run has failed; the decision is ignored. */
  onRunError?: Decides<
    { error: unknown; usage: CompletionUsage; messages: Message[] } & Controlled,
    HookAction
  >
  onTurnStart?: Decides<Asked & { turn: number } & Controlled, HookAction>
  onTurnEnd?: Decides<{ turn: number; response: CompletionResponse } & Controlled, HookAction>
  onCompletionCall?: Decides<Asked & Controlled, HookAction>
  /** With this callback, the answer is streamed after the decision. */
  onCompletionResponse?: Decides<{ prompt: Message; response: CompletionResponse } & Controlled, HookAction>
  onCompletionError?: Decides<{ prompt: Message; error: unknown } & Controlled, HookAction>
  onToolCall?: Decides<HookedCall & { tool: ToolCallControl }, ToolCallHookAction>
  /** `result` is what the model reads, also for a call that failed or was not run. */
  onToolResult?: Decides<
    HookedCall & { result: string; structuredResult?: ToolResultContent[] } & Controlled,
    HookAction
  >
  /** Called before `onToolResult` for a call that failed. */
  onToolError?: Decides<HookedCall & { error: unknown } & Controlled, HookAction>
}

/** Returns the hook unchanged, with its type. */
export function createHook(hook: AgentHook): AgentHook {
  return hook
}

/** A hook cancelled the prompt. */
export class PromptCancelledError extends RunError {
  /** The reason that the hook gave. */
  readonly reason: string
  /** The conversation so far. */
  declare readonly messages: readonly Message[]

  constructor(reason: string, messages: readonly Message[]) {
    super('cancelled', `The prompt was cancelled by a hook: ${reason}`)
    this.reason = reason
    // Not enumerable, so that logging the error does not print the whole conversation.
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
