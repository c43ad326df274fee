import type { ModelError } from '../model/errors.js'
import type { Message, ToolResultPart } from '../tool/completion.js'
import { gaugeOf } from './context-gauge.js'
import type { RunState } from './run-state.js'

/**
 * Removes content that a provider may have refused from the view of the conversation, because the provider would
 * refuse every later request with the same content. Content that was added since its last answer is suspected: images
 * and documents at once, outputs of tools from the second refusal on. The history keeps all of it. Returns whether
 * anything was removed, so that the request can be tried again.
 */
export async function quarantine(state: RunState, error: ModelError): Promise<boolean> {
  const { conversation, emit } = state.parts
  const gauge = gaugeOf(conversation)
  gauge.refusals++
  const since = Math.min(gauge.counted?.messages ?? 0, conversation.view.length)
  const view = conversation.view.map((message, at) =>
    at < since ? message : withoutSuspects(message, gauge.refusals > 1),
  )
  if (view.every((message, at) => message === conversation.view[at])) return false
  await conversation.compact(view)
  emit({
    type: 'notice',
    source: 'model',
    message: `The provider refused the request (${error.message}). What may have caused it was left out: ${placeholder}`,
  })
  return true
}

const placeholder = '[left out: the provider refused a request with this in it]'

function withoutSuspects(message: Message, outputsToo: boolean): Message {
  if (message.role === 'user' && message.content.some(({ type }) => type !== 'text'))
    return {
      ...message,
      content: message.content.map((part) =>
        part.type === 'text' ? part : { type: 'text', text: placeholder },
      ),
    }
  if (message.role !== 'tool') return message
  const content = message.content.map((part) => withoutSuspect(part, outputsToo))
  return content.every((part, at) => part === message.content[at]) ? message : { ...message, content }
}

function withoutSuspect(part: ToolResultPart, outputsToo: boolean): ToolResultPart {
  if (part.content.some(({ type }) => type === 'image') || (outputsToo && !isPlaceholder(part)))
    return { ...part, content: [{ type: 'text', text: placeholder }] }
  return part
}

function isPlaceholder({ content }: ToolResultPart): boolean {
  return content.length === 1 && content[0]?.type === 'text' && content[0].text === placeholder
}
