import { widthOf } from '../terminal/width.js'
import type { Chat } from './chat.js'
import { dollars, grouped, roughly } from './run/figures.js'

/** The status line: model, mode, tokens and cost. It gets shorter in a narrow terminal. */
export function statusLine(
  chat: Pick<Chat, 'modelName' | 'mode' | 'totals'> | undefined,
  isBusy: boolean,
  columns: number,
): string {
  if (chat === undefined) return 'starting …'
  const { tokens, costUsd } = chat.totals
  const model = chat.modelName
  const mode = chat.mode ?? 'default'
  const cost = costUsd === undefined ? '' : dollars(costUsd)
  const count = tokens > 0 ? `${grouped(tokens)} tokens` : ''
  const short = tokens > 0 ? `${roughly(tokens)} tokens` : ''
  const bare = model.slice(model.lastIndexOf('/') + 1)
  const forms = [
    [model, mode, count, cost, isBusy ? 'Esc: cancel' : ''],
    [model, mode, count, cost],
    [bare, mode, short, cost],
    // The mode determines what is allowed without a question, so it is omitted only if it is the default.
    [bare, chat.mode ?? '', short, cost],
    [chat.mode ?? '', short, cost],
  ].map((parts) => parts.filter((part) => part !== '').join(' · '))
  return forms.find((form) => widthOf(form) <= columns) ?? forms.at(-1) ?? ''
}
