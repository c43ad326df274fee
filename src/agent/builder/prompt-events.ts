import type { CompletionResponse, CompletionUsage, Message, ToolCallContent } from '../../tool/completion.js'
import type { ToolResultContent } from '../../tool/content.js'
import type { ToolCallDelta } from './model-for.js'

/** The result of a prompt. `messages` are those of this run: the prompt and everything after it. */
export type PromptResponse = {
  readonly runId: string
  readonly output: string
  readonly usage: CompletionUsage
  readonly messages: readonly Message[]
}

/** Events of a running prompt. `tool_call` has the final call; the deltas before it are a preview. */
export type AgentStreamEvent =
  | {
      readonly type: 'turn_start'
      readonly turn: number
      readonly prompt: Message
      readonly history: readonly Message[]
    }
  | { readonly type: 'text_delta'; readonly turn: number; readonly delta: string }
  | { readonly type: 'reasoning_delta'; readonly turn: number; readonly delta: string }
  | (ToolCallDelta & { readonly turn: number })
  /** The answer was cut off and starts again: ignore the deltas of this turn so far. */
  | { readonly type: 'answer_restarted'; readonly turn: number; readonly reason: string }
  | { readonly type: 'tool_call'; readonly turn: number; readonly toolCall: ToolCallContent }
  | { readonly type: 'turn_end'; readonly turn: number; readonly response: CompletionResponse }
  | PromptToolResult
  | AgentToolStreamEvent
  | ({ readonly type: 'final' } & PromptResponse)
  /** The stream then throws the same error. */
  | { readonly type: 'error'; readonly error: unknown; readonly usage: CompletionUsage }

/** The end of a call. `args` are the final arguments as JSON text; `result` is what the model reads. */
export type PromptToolResult = {
  readonly type: 'tool_result'
  readonly turn: number
  readonly toolName: string
  readonly toolCallId: string
  readonly internalCallId: string
  readonly args: string
  readonly result: string
  readonly structuredResult?: ToolResultContent[]
}

/** An event of an agent that runs inside a tool. */
export type AgentToolStreamEvent = {
  readonly type: 'agent_tool_event'
  readonly turn: number
  readonly toolName: string
  readonly toolCallId: string
  readonly internalCallId: string
  readonly agentId: string
  readonly agentName?: string
  readonly event: unknown
}
