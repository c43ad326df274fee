import { toResponse } from '../../loop/ask-model.js'
import type { AgentEvent } from '../../loop/events.js'
import type { CallRecord } from '../../loop/gate-parts.js'
import { blocksOf, modelText } from '../../loop/tool-message.js'
import type { ModelAnswer } from '../../model/model.js'
import type { Message, ToolCallContent } from '../../tool/completion.js'
import { toolResultContentToText } from '../../tool/content.js'
import type { Envelope } from '../../tool/envelope.js'
import type { ToolCallDelta } from './model-for.js'
import type { AgentStreamEvent, PromptToolResult } from './prompt-events.js'

/** Tells a run of the loop in the words of a prompt's stream. */
export interface PromptEventEmitter {
  event(event: AgentEvent): void
  answered(answer: ModelAnswer): void
  /** What became of a call; told with the event of its end. */
  record(record: CallRecord): void
  delta(delta: ToolCallDelta): void
  /** The id under which hosts know a call of the last answer. */
  callIdOf(toolId: string): string
}

type EmitterOptions = {
  tell(event: AgentStreamEvent): void
  /** All that was said so far. */
  said(): readonly Message[]
  /** Whether the loop's own pieces of calls are the deltas: a completion model's are handed on as it said them. */
  readonly ownDeltas: boolean
}

export function createPromptEventEmitter({ tell, said, ownDeltas }: EmitterOptions): PromptEventEmitter {
  const records = new Map<string, CallRecord>()
  let turn = 0
  let calls: readonly ToolCallContent[] = []
  const callIdOf = (toolId: string): string => calls.find(({ id }) => id === toolId)?.callId ?? toolId

  return {
    event(event) {
      switch (event.type) {
        case 'turn_start':
          turn = event.turn
          return tellStart()
        case 'text_delta':
        case 'reasoning_delta':
          return tell({ type: event.type, turn, delta: event.text })
        case 'answer_restarted':
          return tell({ type: event.type, turn, reason: event.reason })
        case 'tool_start':
          if (ownDeltas) tell({ type: 'tool_call_delta', turn, id: event.toolId, name: event.toolName })
          return
        case 'tool_input_delta':
          if (ownDeltas) tell({ type: 'tool_call_delta', turn, id: event.toolId, argumentsDelta: event.text })
          return
        case 'tool_end':
          return tell(resultOf(event))
        case 'agent_tool_event': {
          const {
            toolName,
            toolId,
            callId: internalCallId = toolId,
            agentId,
            agentName,
            event: inner,
          } = event
          tell({
            type: 'agent_tool_event',
            turn,
            toolName,
            toolCallId: callIdOf(toolId),
            internalCallId,
            agentId,
            ...(agentName !== undefined && { agentName }),
            event: inner,
          })
        }
      }
    },
    answered(answer) {
      calls = answer.content.flatMap((part) => (part.type === 'tool_call' ? [part] : []))
      for (const toolCall of calls) tell({ type: 'tool_call', turn, toolCall })
      tell({ type: 'turn_end', turn, response: toResponse(answer) })
    },
    record(record) {
      if (record.toolCallId !== undefined) records.set(record.toolCallId, record)
    },
    delta: (delta) => tell({ ...delta, turn }),
    callIdOf,
  }

  function tellStart(): void {
    const messages = said()
    const prompt = messages.at(-1)
    if (prompt !== undefined) tell({ type: 'turn_start', turn, prompt, history: messages.slice(0, -1) })
  }

  function resultOf({
    toolId,
    toolName,
    toolOutput,
  }: Extract<AgentEvent, { type: 'tool_end' }>): PromptToolResult {
    const record = records.get(toolId)
    records.delete(toolId)
    const call = calls.find(({ id }) => id === toolId)
    return {
      type: 'tool_result',
      turn,
      toolName,
      toolCallId: callIdOf(toolId),
      // A call that never came to the gate has no id of it.
      internalCallId: record?.callId ?? toolId,
      args: record?.args ?? JSON.stringify(call?.function.arguments ?? {}),
      ...(record === undefined ? { result: toolOutput } : shown(record.envelope)),
    }
  }
}

function shown(envelope: Envelope): Pick<PromptToolResult, 'result' | 'structuredResult'> {
  const structuredResult = blocksOf(envelope)
  return structuredResult === undefined
    ? { result: modelText(envelope) }
    : { result: toolResultContentToText(structuredResult), structuredResult }
}
