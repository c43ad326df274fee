import type { Message } from '../../tool/completion.js'
import type { JsonObject, JsonValue } from '../../tool/json.js'
import { type WireStyle, wireMessage } from './wire-message.js'

/** The JSON of messages, in pieces that a comma joins. */
export type MessageText = (messages: readonly Message[]) => string[]

/**
 * Turns messages into JSON and remembers it, so that a request on top of a long history costs little. They are written and
 * remembered in blocks: one text for many messages is several times cheaper than one for each. How they fall into blocks shows
 * nowhere in the text.
 */
export function createMessageText(style: WireStyle): MessageText {
  const blocks = new WeakMap<Message, Block>()

  const write = (messages: readonly Message[], first: Message, from: number): Block => {
    const wire: JsonObject[] = []
    let after: JsonObject | undefined
    let at = from
    for (; at < messages.length && at - from < maxBlockLength && after === undefined; at++) {
      const message = messages[at]
      if (message === undefined || (at > from && !continues(first, message, blocks))) break
      const written = wireMessage(message, style)
      for (const one of written.messages) wire.push(one)
      after = written.after
    }
    const block: Block = {
      messages: messages.slice(from, at),
      json: toJson(wire).slice(1, -1),
      ...(after !== undefined && { after: toJson(after) }),
    }
    blocks.set(first, block)
    return block
  }

  return (messages) => {
    const parts: string[] = []
    const waiting: string[] = []
    for (let at = 0; at < messages.length; ) {
      const first = messages[at]
      if (first === undefined) break
      const known = blocks.get(first)
      const block = known !== undefined && standsAt(known, messages, at) ? known : write(messages, first, at)
      if (first.role !== 'tool') parts.push(...waiting.splice(0))
      parts.push(block.json)
      if (block.after !== undefined) waiting.push(block.after)
      at += block.messages.length
    }
    return [...parts, ...waiting]
  }
}

type Block = {
  readonly messages: readonly Message[]
  readonly json: string
  /** What must wait until the last tool result has been said. */
  readonly after?: string
}

const maxBlockLength = 64

/** A block of results holds nothing else, since what waits is said behind it; and what is remembered is not written again. */
function continues(first: Message, message: Message, blocks: WeakMap<Message, Block>): boolean {
  return (first.role !== 'tool' || message.role === 'tool') && !blocks.has(message)
}

function standsAt({ messages }: Block, history: readonly Message[], at: number): boolean {
  for (let n = 1; n < messages.length; n++) if (messages[n] !== history[at + n]) return false
  return true
}

/** Half a surrogate pair is legal JSON in JavaScript's eyes and refused by stricter parsers: such a message would fail for ever. */
export function toJson(value: JsonValue): string {
  const json = JSON.stringify(value)
  if (!json.includes('\\ud')) return json
  return JSON.stringify(value, (_, inner: JsonValue) =>
    typeof inner === 'string' ? inner.replace(loneSurrogate, '\ufffd') : inner,
  )
}

const loneSurrogate = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g
