import type { Message } from '../tool/completion.js'
import { walkHistory } from './append-only.js'

/** Returns the ids of all tool calls of a history. */
export const toolCallIdsIn: (history: readonly Message[]) => ReadonlySet<string> = walkHistory(
  () => new Set<string>(),
  (ids, message) => {
    if (message.role !== 'assistant') return
    for (const part of message.content) if (part.type === 'tool_call') ids.add(part.id)
  },
)
