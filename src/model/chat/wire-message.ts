import type {
  AssistantMessage,
  DocumentContent,
  ImageContent,
  Message,
  ToolMessage,
  UserContent,
} from '../../tool/completion.js'
import { toolResultContentToText } from '../../tool/content.js'
import type { JsonObject } from '../../tool/json.js'
import { isAddress, kindOf, type MediaFacts, takesMedia } from '../takes-media.js'
import type { ChatDialect } from './dialect.js'

/**
 * A message in the format of the protocol: the messages it is converted to, and the message that must follow after all
 * tool results.
 */
export type WireMessage = { readonly messages: readonly JsonObject[]; readonly after?: JsonObject }

/** Settings that determine how messages are converted. */
export type WireStyle = {
  readonly facts: MediaFacts
  readonly dialect: Pick<ChatDialect, 'reasoningField' | 'shortCallIds'>
}

export function wireMessage(message: Message, style: WireStyle): WireMessage {
  switch (message.role) {
    case 'system':
      return { messages: [{ role: 'system', content: message.content }] }
    case 'user':
      return { messages: [{ role: 'user', content: userContent(message.content, style) }] }
    case 'assistant':
      return { messages: [assistant(message, style)] }
    case 'tool':
      return toolResults(message, style)
  }
}

function userContent(content: readonly UserContent[], style: WireStyle): string | JsonObject[] {
  // Many servers accept only a string as content.
  const [only] = content
  if (content.length === 1 && only?.type === 'text') return only.text
  const texts = content.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  if (texts.length > 0 && texts.length === content.length) return texts.join('\n\n')
  return content.map((part) => userPart(part, style))
}

function userPart(part: UserContent, { facts }: WireStyle): JsonObject {
  if (part.type === 'text') return text(part.text)
  if (part.type === 'image') {
    return facts.images ? image(part) : text('[an image that this model cannot see was left out]')
  }
  return document(part, takesMedia(facts, part))
}

function assistant({ content }: AssistantMessage, { dialect }: WireStyle): JsonObject {
  let said = ''
  let reasoning = ''
  const calls: JsonObject[] = []
  for (const part of content) {
    if (part.type === 'text') said += part.text
    else if (part.type === 'reasoning') reasoning += part.text
    else if (part.type === 'tool_call') {
      const { name, arguments: given } = part.function
      const id = wireCallId(part.id, dialect.shortCallIds ?? false)
      calls.push({ id, type: 'function', function: { name, arguments: JSON.stringify(given) } })
    }
  }
  const message: JsonObject = { role: 'assistant', content: said === '' && calls.length > 0 ? null : said }
  if (dialect.reasoningField !== undefined && reasoning !== '') message[dialect.reasoningField] = reasoning
  if (calls.length > 0) message['tool_calls'] = calls
  return message
}

/**
 * Converts tool results. Tool messages contain only text, so images follow in a user message, after all results of the
 * round.
 */
function toolResults({ content }: ToolMessage, { facts, dialect }: WireStyle): WireMessage {
  const messages = content.map((result): JsonObject => {
    const said = toolResultContentToText(result.content)
    return { role: 'tool', tool_call_id: wireCallId(result.id, dialect.shortCallIds ?? false), content: said }
  })
  if (!facts.images) return { messages }
  const seen = content.flatMap((result) => {
    const images = result.content.flatMap((part) => (part.type === 'image' ? [image(part)] : []))
    const from = result.toolName === undefined ? '' : ` of ${result.toolName}`
    return images.length === 0 ? [] : [text(`Images in the result${from} (call ${result.id}):`), ...images]
  })
  return seen.length === 0 ? { messages } : { messages, after: { role: 'user', content: seen } }
}

function text(said: string): JsonObject {
  return { type: 'text', text: said }
}

function image({ data, mediaType = 'image/png' }: Omit<ImageContent, 'type'>): JsonObject {
  return { type: 'image_url', image_url: { url: addressOf(data, mediaType) } }
}

/** Converts a document. Documents of a text type contain their text; all others contain base64. */
function document(part: DocumentContent, taken: boolean): JsonObject {
  const { data, mediaType = 'application/pdf', name: title = 'document' } = part
  const kind = kindOf(part)
  if (kind === 'text' && !isAddress(data)) {
    return text(`<document name=${JSON.stringify(title)}>\n${data}\n</document>`)
  }
  if (!taken)
    return text(
      `[the document ${JSON.stringify(title)} (${mediaType}), which this model cannot read, was left out]`,
    )
  const url = addressOf(data, mediaType)
  if (kind === 'video') return { type: 'video_url', video_url: { url } }
  // Audio is sent as base64 without the `data:` prefix, with the name of its format.
  const inline = /^data:[^,]*;base64,/.exec(url)
  if (kind === 'audio' && inline !== null) {
    const format = audioFormat(mediaType)
    return { type: 'input_audio', input_audio: { data: url.slice(inline[0].length), format } }
  }
  return { type: 'file', file: { filename: title, file_data: url } }
}

function audioFormat(mediaType: string): string {
  const name = mediaType
    .toLowerCase()
    .replace(/^audio\/(?:x-|vnd\.)?/, '')
    .replace(/;.*$/, '')
  return audioFormats.get(name) ?? name
}

const audioFormats = new Map([
  ['mpeg', 'mp3'],
  ['wave', 'wav'],
  ['mp4', 'm4a'],
])

function addressOf(data: string, mediaType: string): string {
  return isAddress(data) ? data : `data:${mediaType};base64,${data}`
}

const maxIdLength = 40
const shortLength = 9

/**
 * Returns the id of a tool call in a format that a server accepts. Ids of another provider's calls can be too long or
 * have another format; a history with them would be rejected on every request.
 */
function wireCallId(id: string, short: boolean): string {
  if (short ? /^[a-zA-Z0-9]{9}$/.test(id) : id.length <= maxIdLength) return id
  // Rarely needed, and importing it would add four milliseconds to the start of every program.
  const { createHash } = process.getBuiltinModule('node:crypto')
  return createHash('sha256')
    .update(id)
    .digest('hex')
    .slice(0, short ? shortLength : maxIdLength)
}
