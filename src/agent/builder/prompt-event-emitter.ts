import { toResponse } from '../../loop/ask-model.js'
import type { AgentEvent } from '../../loop/events.js'
import type { CallRecord } from '../../loop/gate-parts.js'
import { blocksOf, modelText } from '../../loop/tool-message.js'
import type { ModelAnswer } from '../../model/model.js'
import type { Message, ToolCallContent } from '../../tool/completion.js'
import { toolResultContentToText } from '../../tool/content.js'
import type { Envelope } from '../../tool/envelope.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import type { ToolCallDelta } from './model-for.js'
import type { AgentStreamEvent, PromptToolResult } from './prompt-events.js'

/** Converts the events of the loop to the events of a prompt. */
export interface PromptEventEmitter {
  event(event: AgentEvent): void
  answered(answer: ModelAnswer): void
  /** Records the result of a call, which is emitted with the event of its end. */
  record(record: CallRecord): void
  delta(delta: ToolCallDelta): void
  /** The id under which the host sees a call of the last answer. */
  callIdOf(toolId: string): string
}

type EmitterOptions = {
  emit(event: AgentStreamEvent): void
  /** The conversation so far. */
  conversation(): readonly Message[]
  /** Whether deltas of calls come from the loop. Those of a completion model are emitted unchanged. */
  readonly ownDeltas: boolean
}

export function createPromptEventEmitter({
  emit,
  conversation,
  ownDeltas,
}: EmitterOptions): PromptEventEmitter {
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
          return emit({ type: event.type, turn, delta: event.text })
        case 'answer_restarted':
          return emit({ type: event.type, turn, reason: event.reason })
        case 'tool_start':
          if (ownDeltas) emit({ type: 'tool_call_delta', turn, id: event.toolId, name: event.toolName })
          return
        case 'tool_input_delta':
          if (ownDeltas) emit({ type: 'tool_call_delta', turn, id: event.toolId, argumentsDelta: event.text })
          return
        case 'tool_end':
          return emit(resultOf(event))
        case 'agent_tool_event': {
          const {
            toolName,
            toolId,
            callId: internalCallId = toolId,
            agentId,
            agentName,
            event: inner,
          } = event
          emit({
            type: 'agent_tool_event',
            turn,
            toolName,
            toolCallId: callIdOf(toolId),
            internalCallId,
            agentId,
            ...omitUndefined({ agentName }),
            event: inner,
          })
        }
      }
    },
    answered(answer) {
      calls = answer.content.flatMap((part) => (part.type === 'tool_call' ? [part] : []))
      for (const toolCall of calls) emit({ type: 'tool_call', turn, toolCall })
      emit({ type: 'turn_end', turn, response: toResponse(answer) })
    },
    record(record) {
      if (record.toolCallId !== undefined) records.set(record.toolCallId, record)
    },
    delta: (delta) => emit({ ...delta, turn }),
    callIdOf,
  }

  function tellStart(): void {
    const messages = conversation()
    const prompt = messages.at(-1)
    if (prompt !== undefined) emit({ type: 'turn_start', turn, prompt, history: messages.slice(0, -1) })
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
      // A call that did not reach the gate has no id.
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
