import type { AssistantMessage, Message, ToolResultPart } from '../../tool/completion.js'
import { toolResultContentToText } from '../../tool/content.js'
import { isRecord, type JsonObject } from '../../tool/json.js'
import type { Result } from './plan.js'

/** The user's current request, and what was done for it so far. */
export type Turn = {
  readonly prompt: string
  readonly results: readonly Result[]
  /** Whether this is the first turn of the conversation. */
  readonly isFirst: boolean
}

/** Reads the turn from a conversation: the latest text of the user, and the calls since. */
export function turnOf(history: readonly Message[]): Turn {
  const at = history.findLastIndex((message) => requestIn(message) !== '')
  const asked = history[at]
  const results = new Map<string, ToolResultPart>()
  const calls: AssistantMessage['content'] = []
  for (const message of history.slice(at + 1)) {
    if (message.role === 'assistant') calls.push(...message.content)
    if (message.role === 'tool') for (const result of message.content) results.set(result.id, result)
  }
  return {
    prompt: asked === undefined ? '' : requestIn(asked),
    results: calls.flatMap((part) => {
      const result = part.type === 'tool_call' ? results.get(part.id) : undefined
      if (part.type !== 'tool_call' || result === undefined) return []
      return [resultOf(part.function.name, part.function.arguments, result)]
    }),
    isFirst: !history.slice(0, Math.max(0, at)).some(({ role }) => role === 'assistant'),
  }
}

/**
 * Returns the request in a user message. Messages of the run itself, such as the date or the state of the repository,
 * are a single element in angle brackets and contain none.
 */
function requestIn(message: Message): string {
  if (message.role !== 'user') return ''
  const texts = message.content.flatMap((part) => (part.type === 'text' ? [part.text.trim()] : []))
  return texts
    .filter((text) => !/^<([\w-]+)[\s>][\s\S]*<\/\1>$/.test(text))
    .join('\n')
    .trim()
}

function resultOf(tool: string, given: unknown, { content, isError }: ToolResultPart): Result {
  const text = toolResultContentToText(content)
  const args: JsonObject = isRecord(given) ? (given as JsonObject) : {}
  return { tool, args, text, failed: isError === true }
}
