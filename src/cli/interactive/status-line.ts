import type { Chat } from './chat.js'
import { dollars, grouped } from './run/figures.js'

/** What is always to be seen: the model, the mode, and what it has come to. */
export function statusLine(chat: Chat | undefined, isBusy: boolean): string {
  if (chat === undefined) return 'starting …'
  const { tokens, costUsd } = chat.totals
  return [
    chat.modelName,
    chat.mode ?? 'default',
    ...(tokens > 0 ? [`${grouped(tokens)} tokens`] : []),
    ...(costUsd === undefined ? [] : [dollars(costUsd)]),
    ...(isBusy ? ['Esc cancels'] : []),
  ].join(' · ')
}
