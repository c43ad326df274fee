import type {
  AssistantContent,
  AssistantMessage,
  CompletionRequest,
  DocumentContent,
  Message,
  ToolMessage,
  ToolResultPart,
  UserContent,
} from '../../tool/completion.js'
import type { ToolResultImage } from '../../tool/content.js'
import { lowerHistory } from '../lower-history.js'
import { renderDocuments } from '../render-documents.js'
import { isAddress, kindOf, type MediaFacts, takesMedia } from '../takes-media.js'
import type { AiSdkMessage, AiSdkPart } from './ai-sdk-model.js'
import { optionsOfSignature } from './provider-metadata.js'

/** The model that a prompt is written for. */
export type PromptTarget = {
  readonly specification: 'v2' | 'v3' | 'v4'
  /** The provider's name in the model object. */
  readonly provider: string
  readonly facts: MediaFacts
}

/** Converts a request's instructions, documents and history to a prompt of the AI SDK. */
export function toPrompt(request: CompletionRequest, target: PromptTarget): AiSdkMessage[] {
  const prompt: AiSdkMessage[] = []
  if (request.instructions) prompt.push({ role: 'system', content: request.instructions })
  const history = lowerHistory(request.chatHistory)
  const leading = history.findIndex(({ role }) => role !== 'system')
  const documents = renderDocuments(request.documents)
  const callIds = wireIdsOf(history)
  for (const [index, message] of history.entries()) {
    const opens = leading < 0 || index < leading
    if (index === leading && documents !== undefined) prompt.push(userText(documents))
    prompt.push(toMessage(message, opens, callIds, target))
  }
  if (leading < 0 && documents !== undefined) prompt.push(userText(documents))
  return prompt
}

type CallIds = ReadonlyMap<string, { readonly id: string; readonly name: string }>

/**
 * Returns the call ids to send, by the ids in the history. Providers reject ids with characters or lengths that other
 * providers use.
 */
function wireIdsOf(history: readonly Message[]): CallIds {
  const ids = new Map<string, { id: string; name: string }>()
  for (const message of history) {
    if (message.role !== 'assistant') continue
    for (const part of message.content) {
      if (part.type === 'tool_call')
        ids.set(part.id, { id: wireId(part.callId ?? part.id), name: part.function.name })
    }
  }
  return ids
}

function wireId(id: string): string {
  return id.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64)
}

function toMessage(message: Message, opens: boolean, callIds: CallIds, target: PromptTarget): AiSdkMessage {
  switch (message.role) {
    case 'system':
      // Most providers accept a system message only at the start of a conversation.
      return opens ? message : userText(`<system-message>\n${message.content}\n</system-message>`)
    case 'user':
      return { role: 'user', content: message.content.map((part) => userPart(part, target)) }
    case 'assistant':
      return { role: 'assistant', content: assistantParts(message, callIds, target) }
    case 'tool':
      return { role: 'tool', content: toolParts(message, callIds, target) }
  }
}

function userText(text: string): AiSdkMessage {
  return { role: 'user', content: [{ type: 'text', text }] }
}

function userPart(part: UserContent, target: PromptTarget): AiSdkPart {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text }
    case 'image':
      if (!target.facts.images) return textPart('[an image that this model cannot see was left out]')
      return filePart(part.data, part.mediaType ?? 'image/png', target)
    case 'document':
      return documentPart(part, target)
  }
}

/** Converts a document. Documents of a text type contain their text; all others contain base64. */
function documentPart(part: DocumentContent, target: PromptTarget): AiSdkPart {
  const { data, mediaType = 'application/pdf', name = 'document' } = part
  if (kindOf(part) === 'text' && !isAddress(data))
    return textPart(`<document name=${JSON.stringify(name)}>\n${data}\n</document>`)
  if (!takesMedia(target.facts, part))
    return textPart(
      `[the document ${JSON.stringify(name)} (${mediaType}), which this model cannot read, was left out]`,
    )
  return { ...filePart(data, mediaType, target), filename: name }
}

function assistantParts({ content }: AssistantMessage, callIds: CallIds, target: PromptTarget): AiSdkPart[] {
  return content.flatMap((part) => assistantPart(part, callIds, target))
}

function assistantPart(part: AssistantContent, callIds: CallIds, target: PromptTarget): AiSdkPart[] {
  const signature = part.type === 'reasoning' || part.type === 'tool_call' ? part.signature : undefined
  const own = signature === undefined ? undefined : optionsOfSignature(signature, target.provider)
  const providerOptions = own === undefined ? {} : { providerOptions: own }
  switch (part.type) {
    case 'text':
      return [{ type: 'text', text: part.text }]
    case 'image':
      return [filePart(part.data, part.mediaType ?? 'image/png', target)]
    case 'reasoning':
      // A signature of another provider cannot be used here, and some providers reject it.
      if (signature !== undefined && own === undefined) return []
      return [{ type: 'reasoning', text: part.text, ...providerOptions }]
    case 'tool_call': {
      const { name, arguments: input } = part.function
      const toolCallId = callIds.get(part.id)?.id ?? wireId(part.id)
      return [{ type: 'tool-call', toolCallId, toolName: name, input, ...providerOptions }]
    }
  }
}

function toolParts({ content }: ToolMessage, callIds: CallIds, target: PromptTarget): AiSdkPart[] {
  return content.map((result) => {
    const call = callIds.get(result.id)
    return {
      type: 'tool-result',
      toolCallId: call?.id ?? wireId(result.callId ?? result.id),
      toolName: result.toolName ?? call?.name ?? 'tool',
      output: resultOutput(result, target),
    }
  })
}

function resultOutput({ content, isError }: ToolResultPart, target: PromptTarget): AiSdkPart {
  const texts = content.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  if (texts.length === content.length)
    return { type: isError === true ? 'error-text' : 'text', value: texts.join('\n') }
  const value = content.map((part) =>
    part.type === 'text' ? textPart(part.text) : resultImage(part, target),
  )
  return { type: 'content', value }
}

/** Converts an image in a result, for which each specification has its own format. */
function resultImage({ data, mediaType = 'image/png' }: ToolResultImage, target: PromptTarget): AiSdkPart {
  if (!target.facts.images) return textPart(`[image:${mediaType}]`)
  const inline = inlineOf(data, mediaType)
  switch (target.specification) {
    case 'v2':
      return inline === undefined ? textPart(`[image at ${data}]`) : { type: 'media', ...inline }
    case 'v3':
      return inline === undefined ? { type: 'image-url', url: data } : { type: 'image-data', ...inline }
    case 'v4':
      return filePart(data, mediaType, target)
  }
}

function filePart(address: string, mediaType: string, { specification }: PromptTarget): AiSdkPart {
  const inline = inlineOf(address, mediaType)
  if (inline === undefined) {
    const url = new URL(address)
    return { type: 'file', data: specification === 'v4' ? { type: 'url', url } : url, mediaType }
  }
  const { data } = inline
  return {
    type: 'file',
    data: specification === 'v4' ? { type: 'data', data } : data,
    mediaType: inline.mediaType,
  }
}

/** Returns base64 data, also from a `data:` URL; undefined for a web URL. */
function inlineOf(data: string, mediaType: string): { data: string; mediaType: string } | undefined {
  const found = /^data:([^;,]*)(?:;[^,]*)?,/.exec(data)
  if (found !== null) return { data: data.slice(found[0].length), mediaType: found[1] || mediaType }
  return isAddress(data) ? undefined : { data, mediaType }
}

function textPart(text: string): AiSdkPart {
  return { type: 'text', text }
}
