import type { MessageRow } from './records.js'
import type { StoredMessage } from './session-state.js'

/** Returns what a model sees of messages in order, including compactions. */
export function viewOf(order: readonly StoredMessage[]): StoredMessage[] {
  let view: StoredMessage[] = []
  for (const message of order) {
    if (message.hidden) continue
    if (message.row.role === 'compaction') view = compacted(view, message)
    else view.push(message)
  }
  return view
}

/** Returns the view after a compaction. A compaction without a summary only hides large outputs. */
function compacted(view: readonly StoredMessage[], compaction: StoredMessage): StoredMessage[] {
  const tail = tailOf(view, compaction.row)
  return compaction.message.content.length === 0 ? tail : [compaction, ...tail]
}

function tailOf(view: readonly StoredMessage[], { tailStart, pruned }: MessageRow): StoredMessage[] {
  if (tailStart === null || tailStart === undefined) return []
  const start = view.findIndex(({ id }) => id === tailStart)
  // If the start of the tail is unknown, everything is retained: a context that is too long is detected at the next
  // request, but lost turns are not.
  const tail = view.slice(Math.max(0, start))
  if (pruned === undefined || pruned.length === 0) return tail
  const ids = new Set(pruned)
  return tail.map((viewed) => (ids.has(viewed.id) ? { ...viewed, pruned: true } : viewed))
}
