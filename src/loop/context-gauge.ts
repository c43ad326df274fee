import { estimateMessageTokens, estimateTokens } from '../model/estimate-tokens.js'
import type { Message } from '../tool/completion.js'
import type { Conversation } from './conversation.js'

/** How full a conversation's window is: the provider's last count, plus corrected estimates for what came since. */
export type ContextGauge = {
  /** What the provider counted for the last request and its answer, and how many messages that was. */
  counted: { readonly tokens: number; readonly messages: number } | undefined
  /** What to multiply estimates with. */
  correction: number
  /** Whether the provider ever read from its cache here. */
  sawCache: boolean
  failedCompactions: number
  /** What the conversation was to fit into after a summary; asked of the next count, since only that is sure. */
  room: number | undefined
  /** How often in a row the provider refused what it was sent. */
  refusals: number
}

const gauges = new WeakMap<Conversation, ContextGauge>()

/** The gauge of a conversation: it outlives its runs. */
export function gaugeOf(conversation: Conversation): ContextGauge {
  let gauge = gauges.get(conversation)
  if (gauge === undefined) {
    gauge = {
      counted: undefined,
      correction: 1,
      sawCache: false,
      failedCompactions: 0,
      room: undefined,
      refusals: 0,
    }
    gauges.set(conversation, gauge)
  }
  return gauge
}

/** About how many tokens the next request has. `fixed` is what comes before the messages: instructions and tools. */
export function tokensUsed(gauge: ContextGauge, view: readonly Message[], fixed: number): number {
  const { counted, correction } = gauge
  if (counted === undefined || counted.messages > view.length)
    return Math.ceil((fixed + estimateTokens({ chatHistory: view as Message[] })) * correction)
  let since = 0
  for (let at = counted.messages; at < view.length; at++) since += estimateMessageTokens(view[at] as Message)
  return counted.tokens + Math.ceil(since * correction)
}
