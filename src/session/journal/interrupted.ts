import { toolMessage } from '../../loop/tool-message.js'
import type { OpenIntent } from '../../store/session-state.js'
import type { Message, ToolMessage } from '../../tool/completion.js'
import { errorEnvelope } from '../../tool/envelope.js'

/**
 * The results that a process did not live to write: for the calls of the last answer that have none. Undefined when there are no such
 * calls. They are said as they are: what had begun may have done anything, what had not was not done.
 */
export function interruptedResults(
  messages: readonly Message[],
  intents: readonly OpenIntent[],
): ToolMessage | undefined {
  const last = messages.at(-1)
  if (last?.role !== 'assistant') return undefined
  const calls = last.content.flatMap((part) => (part.type === 'tool_call' ? [part] : []))
  if (calls.length === 0) return undefined
  const begun = new Map(intents.map(({ intent }) => [intent.callId, intent]))
  return toolMessage(
    calls.map(({ id, callId, function: { name } }) => {
      const intent = begun.get(id) ?? (callId === undefined ? undefined : begun.get(callId))
      return {
        id,
        name,
        ...(callId !== undefined && { callId }),
        envelope: errorEnvelope(intent === undefined ? neverBegan : intent.idempotent ? mayRepeat : unknown),
      }
    }),
  )
}

const unknown =
  'interrupted, outcome unknown: the process ended while this call ran. Look at what it did before you repeat it.'
const mayRepeat =
  'interrupted, outcome unknown: the process ended while this call ran. It does no harm to make it again.'
const neverBegan = 'This call was not begun: the process ended before. Make it again if it is still needed.'
