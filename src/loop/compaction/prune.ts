import { estimateMessageTokens } from '../../model/estimate-tokens.js'
import type { Message, ToolMessage, ToolResultPart } from '../../tool/completion.js'

/**
 * Returns the view without large old outputs of tools. All other messages, the newest outputs, and the outputs of tools
 * that the session depends on (`kept`) remain. Unchanged messages are the same objects.
 */
export function prune(view: readonly Message[], keepTokens = newestTokens): Message[] {
  let kept = 0
  const pruned: Message[] = []
  for (let at = view.length - 1; at >= 0; at--) {
    const message = view[at] as Message
    if (message.role !== 'tool') pruned.push(message)
    else {
      kept += estimateMessageTokens(message)
      pruned.push(kept <= keepTokens ? message : withoutLargeOutputs(message))
    }
  }
  return pruned.reverse()
}

/** About how many tokens of the newest outputs are never removed. */
const newestTokens = 40_000
const largeCharacters = 2_000
const kept: ReadonlySet<string> = new Set(['todo', 'task', 'parallel_task', 'question', 'skill'])

function withoutLargeOutputs(message: ToolMessage): ToolMessage {
  const content = message.content.map(withoutLargeOutput)
  return content.every((part, at) => part === message.content[at]) ? message : { ...message, content }
}

function withoutLargeOutput(part: ToolResultPart): ToolResultPart {
  if (part.toolName !== undefined && kept.has(part.toolName)) return part
  const size = part.content.reduce(
    (sum, piece) => sum + (piece.type === 'text' ? piece.text.length : imageSize),
    0,
  )
  if (size <= largeCharacters) return part
  const tokens = Math.ceil(size / 4)
  return {
    ...part,
    content: [
      { type: 'text', text: `[output pruned, about ${tokens} tokens; call the tool again if it is needed]` },
    ],
  }
}

const imageSize = 6_000
