import type {
  AssistantContent,
  AssistantMessage,
  DocumentContent,
  ImageContent,
  Message,
  ToolMessage,
  UserContent,
  UserMessage,
} from '../tool/completion.js'
import { toolResultContentToText } from '../tool/content.js'
import type { JsonValue } from '../tool/json.js'
import { omitUndefined } from '../tool/omit-undefined.js'

/** A part of a message in the history for hosts. Which fields exist depends on `type`. */
export type ContentBlock = {
  readonly type: 'text' | 'reasoning' | 'tool_use' | 'tool_result' | 'image' | 'document'
  readonly text?: string
  readonly id?: string
  readonly name?: string
  readonly input?: JsonValue
  readonly toolUseId?: string
  readonly resultContent?: string
  readonly isError?: boolean
  readonly data?: string
  readonly mediaType?: string
}
/** A message of a conversation, as a host reads and passes it. */
export type HistoryMessage = { readonly role: Message['role']; readonly content: readonly ContentBlock[] }

/** Converts a conversation for a host; {@link fromHistory} is the inverse. */
export function toHistory(messages: readonly Message[]): HistoryMessage[] {
  return messages.map((message) => ({ role: message.role, content: blocksOf(message) }))
}

/** Accepts what {@link toHistory} returns, and plain messages with a string as content. */
export function fromHistory(
  history: readonly (HistoryMessage | { readonly role: string; readonly content: string })[],
): Message[] {
  // Histories can be long: nothing is created for a message that is not needed.
  const messages: Message[] = []
  for (const { role, content } of history) {
    const blocks: readonly ContentBlock[] =
      typeof content === 'string' ? [{ type: 'text', text: content }] : content
    if (!hasResult(blocks)) {
      messages.push(spokenBy(role, blocks))
      continue
    }
    // Some hosts put results and the text after them into one message.
    const others = blocks.filter((block) => !isResult(block))
    messages.push(toolMessageOf(blocks.filter(isResult)))
    if (others.length > 0) messages.push(spokenBy(role, others))
  }
  return messages
}

function hasResult(blocks: readonly ContentBlock[]): boolean {
  for (const block of blocks) if (isResult(block)) return true
  return false
}

function isResult({ type }: ContentBlock): boolean {
  return type === 'tool_result'
}

function spokenBy(role: string, blocks: readonly ContentBlock[]): Message {
  switch (role) {
    case 'assistant':
      return { role, content: partsOf(blocks, assistantPart) } satisfies AssistantMessage
    case 'system':
      return { role, content: blocks.map(({ text = '' }) => text).join('\n') }
    case 'user':
      return { role, content: partsOf(blocks, userPart) } satisfies UserMessage
    default:
      throw new TypeError(
        `A message of the history has the role ${JSON.stringify(role)}: use user, assistant or system, or give tool results.`,
      )
  }
}

/** Converts blocks and leaves out those that have no part. */
function partsOf<Part>(
  blocks: readonly ContentBlock[],
  partOf: (block: ContentBlock) => Part | undefined,
): Part[] {
  const [only] = blocks
  if (only !== undefined && blocks.length === 1) {
    // Most messages have one block. `push` would reserve memory for more.
    const part = partOf(only)
    return part === undefined ? [] : [part]
  }
  const parts: Part[] = []
  for (const block of blocks) {
    const part = partOf(block)
    if (part !== undefined) parts.push(part)
  }
  return parts
}

function blocksOf(message: Message): ContentBlock[] {
  switch (message.role) {
    case 'system':
      return [{ type: 'text', text: message.content }]
    case 'user':
    case 'assistant':
      return message.content.map(blockOf)
    case 'tool':
      return message.content.map((part) => ({
        type: 'tool_result',
        toolUseId: part.id,
        resultContent: toolResultContentToText(part.content),
        isError: part.isError ?? false,
        ...omitUndefined({ name: part.toolName }),
      }))
  }
}

function blockOf(part: UserContent | AssistantContent): ContentBlock {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text }
    case 'reasoning':
      return { type: 'reasoning', text: part.text }
    case 'tool_call':
      return {
        type: 'tool_use',
        id: part.id,
        name: part.function.name,
        // A copy, because the host may change it: the conversation must stay as it was.
        input: structuredClone(part.function.arguments),
      }
    case 'image':
    case 'document':
      return {
        type: part.type,
        data: part.data,
        ...omitUndefined({ mediaType: part.mediaType }),
        ...(part.type === 'document' && part.name !== undefined && { name: part.name }),
      }
  }
}

function userPart(block: ContentBlock): UserContent | undefined {
  if (block.type === 'text') return { type: 'text', text: block.text ?? '' }
  if (block.type === 'image') return imagePart(block)
  return block.type === 'document' ? documentPart(block) : undefined
}

function assistantPart(block: ContentBlock): AssistantContent | undefined {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text ?? '' }
    case 'reasoning':
      return { type: 'reasoning', text: block.text ?? '' }
    case 'tool_use':
      return {
        type: 'tool_call',
        id: block.id ?? '',
        function: { name: block.name ?? '', arguments: block.input ?? {} },
      }
    case 'image':
      return imagePart(block)
    default:
      return undefined
  }
}

function imagePart({ data = '', mediaType }: ContentBlock): ImageContent {
  return { type: 'image', data, ...omitUndefined({ mediaType }) }
}

function documentPart({ data = '', mediaType, name }: ContentBlock): DocumentContent {
  return {
    type: 'document',
    data,
    ...omitUndefined({ mediaType, name }),
  }
}

function toolMessageOf(results: readonly ContentBlock[]): ToolMessage {
  return {
    role: 'tool',
    content: results.map(({ toolUseId, resultContent, isError, name }) => ({
      type: 'tool_result',
      id: toolUseId ?? '',
      content: [{ type: 'text', text: resultContent ?? '' }],
      ...(isError && { isError }),
      ...omitUndefined({ toolName: name }),
    })),
  }
}
