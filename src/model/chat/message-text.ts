import type { Message } from '../../tool/completion.js'
import type { JsonObject, JsonValue } from '../../tool/json.js'
import { whenForgotten } from '../append-only.js'
import { type WireStyle, wireMessage } from './wire-message.js'

/** Returns the JSON of messages, as strings to be joined by commas. */
export type MessageText = (messages: readonly Message[]) => string[]

/**
 * Converts messages to JSON and caches it, so that a request with a long history costs little. Messages are converted
 * and cached in blocks: one string for many messages is several times cheaper than one each. The result does not depend
 * on how messages are grouped.
 */
export function createMessageText(style: WireStyle): MessageText {
  const write = (messages: readonly Message[], first: Message, from: number): Block => {
    const wire: JsonObject[] = []
    let after: JsonObject | undefined
    let isSimple = true
    let at = from
    for (; at < messages.length && at - from < maxBlockLength && after === undefined; at++) {
      const message = messages[at]
      if (message === undefined || (at > from && !continues(first, message, style))) break
      const written = wireMessage(message, style)
      for (const one of written.messages) wire.push(one)
      after = written.after
      isSimple &&= isSimpleText(message)
    }
    const block: Block = {
      style,
      messages: messages.slice(from, at),
      json: (isSimple ? JSON.stringify(wire) : toJson(wire)).slice(1, -1),
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
      const block =
        known?.style === style && isBlockAt(known, messages, at) ? known : write(messages, first, at)
      if (first.role !== 'tool') parts.push(...waiting.splice(0))
      parts.push(block.json)
      if (block.after !== undefined) waiting.push(block.after)
      at += block.messages.length
    }
    return [...parts, ...waiting]
  }
}

/** Blocks by their first message. One cache for all models: a history is rarely sent to several models in turn. */
const blocks = new WeakMap<Message, Block>()
whenForgotten((history) => {
  for (const message of history) blocks.delete(message)
})

type Block = {
  readonly style: WireStyle
  readonly messages: readonly Message[]
  readonly json: string
  /** The messages that must follow after the last tool result. */
  readonly after?: string
}

const maxBlockLength = 64

/**
 * Returns whether a message can be added to a block. A block of tool results contains nothing else, because deferred
 * messages follow after it. Cached messages are not converted again.
 */
function continues(first: Message, message: Message, style: WireStyle): boolean {
  return (first.role !== 'tool' || message.role === 'tool') && blocks.get(message)?.style !== style
}

function isBlockAt({ messages }: Block, history: readonly Message[], at: number): boolean {
  for (let n = 1; n < messages.length; n++) if (messages[n] !== history[at + n]) return false
  return true
}

/**
 * Returns whether a message is one text without surrogates. Its JSON need not be searched for lone ones: the search
 * makes V8 copy the JSON, which it creates in parts, and a text of Latin letters is known to have none without reading
 * it.
 */
function isSimpleText({ role, content }: Message): boolean {
  if (role === 'system') return !surrogate.test(content)
  const [part] = content
  return content.length === 1 && part?.type === 'text' && !surrogate.test(part.text)
}

const surrogate = /[\ud800-\udfff]/

/**
 * Converts a value to JSON and escapes lone surrogates. JavaScript does not escape them and stricter parsers reject
 * them, so the history would fail on every request.
 */
export function toJson(value: JsonValue): string {
  const json = JSON.stringify(value)
  if (!json.includes('\\ud')) return json
  return JSON.stringify(value, (_, inner: JsonValue) =>
    typeof inner === 'string' ? inner.replace(loneSurrogate, '\ufffd') : inner,
  )
}

const loneSurrogate = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g
