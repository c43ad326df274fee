import type { Message } from '../tool/completion.js'

/** The ids of all tool calls of a history. Messages do not change once they are made, so each is looked at once. */
export function toolCallIdsIn(history: readonly Message[]): Set<string> {
  const ids = new Set<string>()
  for (const message of history) {
    if (message.role === 'assistant') for (const id of idsOf(message)) ids.add(id)
  }
  return ids
}

const known = new WeakMap<Message, readonly string[]>()
const none: readonly string[] = []

function idsOf(message: Extract<Message, { role: 'assistant' }>): readonly string[] {
  const seen = known.get(message)
  if (seen !== undefined) return seen
  const ids = message.content.flatMap((part) => (part.type === 'tool_call' ? [part.id] : []))
  known.set(message, ids.length === 0 ? none : ids)
  return ids
}
