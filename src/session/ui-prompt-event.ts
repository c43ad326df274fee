import type { AgentEvent } from '../loop/events.js'
import { CapstanError, messageOf } from '../tool/errors.js'
import { isRecord } from '../tool/json.js'
import { jsonTextOf } from '../tool/serialize.js'

/** An event of the stream of a built agent's prompt (`agent.prompt(…).stream()`) that UI messages can show. */
export type UiPromptEvent =
  | { readonly type: 'text_delta' | 'reasoning_delta'; readonly turn: number; readonly delta: string }
  | {
      readonly type: 'tool_call'
      readonly turn: number
      readonly toolCall: {
        readonly id: string
        readonly callId?: string
        readonly function: { readonly name: string; readonly arguments: unknown }
      }
    }
  | {
      readonly type: 'tool_result'
      readonly turn: number
      readonly toolName: string
      readonly toolCallId: string
      readonly result: string
    }
  | { readonly type: 'final'; readonly output: string }
  | { readonly type: 'error'; readonly error: unknown }
  | { readonly type: 'turn_start' | 'turn_end' | 'tool_call_delta' | 'answer_restarted' | 'agent_tool_event' }

/** The events that a message is written from: an event of a session, or the end of a built agent's run. */
export type ShownEvent = AgentEvent | { readonly type: 'final' }

/**
 * Converts an event of a built agent to the equivalent event of a session. Returns undefined for an event that shows
 * nothing, and an event of a session unchanged. Throws for anything else, because an empty chat would hide the mistake.
 */
export function shownEvent(event: AgentEvent | UiPromptEvent): ShownEvent | undefined {
  if (!isRecord(event) || typeof event['type'] !== 'string')
    throw new TypeError(
      'The source of a UI message stream must give events of a session or of a built agent.',
    )
  switch (event.type) {
    case 'text_delta':
    case 'reasoning_delta':
      return 'delta' in event ? { type: event.type, text: event.delta } : event
    case 'tool_call': {
      const { id, callId, function: called } = event.toolCall
      const args = jsonTextOf(called.arguments) ?? '{}'
      return { type: 'tool_execution_start', toolId: callId ?? id, toolName: called.name, args }
    }
    case 'tool_result': {
      const { toolCallId: toolId, toolName, result: toolOutput } = event
      const metadata = { duration_ms: 0 }
      return { type: 'tool_end', toolId, toolName, toolOutput, exitCode: 0, isError: false, metadata }
    }
    case 'error':
      return typeof event.error === 'string' ? (event as AgentEvent) : errorEvent(event.error)
    case 'final':
      return { type: 'final' }
    case 'tool_call_delta':
      return undefined
    default:
      return event as AgentEvent
  }
}

function errorEvent(error: unknown): AgentEvent {
  // Only errors of Capstan, which have a code, have messages for users.
  return {
    type: 'error',
    error: messageOf(error),
    ...(error instanceof CapstanError && { code: error.code }),
  }
}
