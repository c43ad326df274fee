import { estimateMessageTokens, estimateTokens } from '../model/estimate-tokens.js'
import type { Message } from '../tool/completion.js'
import type { Conversation } from './conversation.js'

/** How full a conversation's window is: the provider's last count, plus corrected estimates for later messages. */
export type ContextGauge = {
  /** The provider's token count of the last request and its answer, and the number of messages in them. */
  counted: { readonly tokens: number; readonly messages: number } | undefined
  /** The factor by which estimates are multiplied. */
  correction: number
  /** Whether the provider has ever read from its cache in this conversation. */
  sawCache: boolean
  failedCompactions: number
  /**
   * The limit that the conversation must fit after a summary. The next count checks it, since estimates are not
   * exact.
   */
  room: number | undefined
  /** How many requests in a row the provider refused because of their content. */
  refusals: number
}

const gauges = new WeakMap<Conversation, ContextGauge>()

/** Returns the gauge of a conversation, which is shared by all of its runs. */
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

/**
 * Estimates the tokens of the next request. `fixed` is the size of the instructions and tools before the messages.
 */
export function tokensUsed(gauge: ContextGauge, view: readonly Message[], fixed: number): number {
  const { counted, correction } = gauge
  if (counted === undefined || counted.messages > view.length)
    return Math.ceil((fixed + estimateTokens({ chatHistory: view as Message[] })) * correction)
  let since = 0
  for (let at = counted.messages; at < view.length; at++) since += estimateMessageTokens(view[at] as Message)
  return counted.tokens + Math.ceil(since * correction)
}
