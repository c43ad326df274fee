import type { MessageRow } from './records.js'
import type { StoredMessage } from './session-state.js'

/** What a model is shown of messages in order, compactions among them. */
export function viewOf(order: readonly StoredMessage[]): StoredMessage[] {
  let view: StoredMessage[] = []
  for (const kept of order) {
    if (kept.hidden) continue
    if (kept.row.role === 'compaction') view = compacted(view, kept)
    else view.push(kept)
  }
  return view
}

/** What is in view after a compaction. One without a summary only leaves large outputs out. */
function compacted(view: readonly StoredMessage[], compaction: StoredMessage): StoredMessage[] {
  const tail = tailOf(view, compaction.row)
  return compaction.message.content.length === 0 ? tail : [compaction, ...tail]
}

function tailOf(view: readonly StoredMessage[], { tailStart, pruned }: MessageRow): StoredMessage[] {
  if (tailStart === null || tailStart === undefined) return []
  const start = view.findIndex(({ id }) => id === tailStart)
  // Better too much than a conversation without its last turns: what is too long is found out at the next request.
  const tail = view.slice(Math.max(0, start))
  if (pruned === undefined || pruned.length === 0) return tail
  const ids = new Set(pruned)
  return tail.map((viewed) => (ids.has(viewed.id) ? { ...viewed, pruned: true } : viewed))
}
