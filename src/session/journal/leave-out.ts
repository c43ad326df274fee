import { prune } from '../../loop/compaction/prune.js'
import type { Message } from '../../tool/completion.js'

/**
 * A message as a model was shown it after its large contents had been left out: outputs of tools, images, documents.
 */
export function leaveOut(message: Message): Message {
  const [pruned = message] = prune([message], 0)
  if (pruned.role !== 'user' || pruned.content.every(({ type }) => type === 'text')) return pruned
  return {
    ...pruned,
    content: pruned.content.map((part) =>
      part.type === 'text' ? part : { type: 'text', text: '[left out]' },
    ),
  }
}
