import { estimateMessageTokens } from '../../model/estimate-tokens.js'
import type { Message } from '../../tool/completion.js'

/**
 * Returns the index at which the unchanged part begins: at one of the user's last turns if that fits, otherwise
 * inside the last one, at an answer of the model, so that no call is separated from its result. Returns the length of
 * the view when nothing fits.
 */
export function tailStart(view: readonly Message[], turns: number, budget: number): number {
  const sizes = view.map(estimateMessageTokens)
  let size = 0
  let best = view.length
  let users = 0
  for (let at = view.length - 1; at >= 0; at--) {
    size += sizes[at] ?? 0
    if (size > budget) break
    const role = view[at]?.role
    if (role === 'user') {
      best = at
      users++
      if (users >= turns) break
    } else if (role === 'assistant' && users === 0) best = at
  }
  return best
}
