import type { AgentEvent } from '../../loop/events.js'
import { serializeToolOutput } from '../../tool/serialize.js'

/** Whether an event of this type ends the texts of an answer. */
export function endsAnswer(type: unknown): boolean {
  return type === 'turn_end' || type === 'error' || type === 'agent_cancelled'
}

/** Events that are not recorded, because streamed text is in the messages. */
const reportedElsewhere: ReadonlySet<AgentEvent['type']> = new Set([
  'text_delta',
  'reasoning_delta',
  'tool_input_delta',
  'tool_output_delta',
])

/** Returns an event as the log records it; undefined for an event that the log has in another form. */
export function withoutTexts(event: AgentEvent): unknown {
  if (reportedElsewhere.has(event.type)) return undefined
  if (event.type === 'tool_end') {
    const { toolOutput: _, ...rest } = event
    return rest
  }
  // The text is in the row of the run.
  if (event.type === 'agent_end') return { ...event, result: { ...event.result, text: '' } }
  // The arguments of a call are the only part of an event that may not be JSON.
  return event.type === 'confirmation_required' ? { ...event, args: serializeToolOutput(event.args) } : event
}
