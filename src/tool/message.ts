import type * as shapes from './completion.js'
import type {
  AssistantMessage,
  CompletionUsage,
  DocumentContent,
  ImageContent,
  ReasoningContent,
  ReasoningPart,
  SystemMessage,
  TextContent,
  ToolCallContent,
  ToolMessage,
  ToolResultPart,
  UserMessage,
} from './completion.js'
import { isToolResultContentArray, type ToolResultContent } from './content.js'
import type { JsonValue } from './json.js'
import { omitUndefined } from './omit-undefined.js'
import { serializeToolOutput } from './serialize.js'

/** Functions that create messages and their parts. Each has the name of the type that it creates. */

/** One message of a conversation; the value with this name has functions that create messages. */
export type Message = shapes.Message
/** A part of a user message; the value with this name has functions that create parts. */
export type UserContent = shapes.UserContent
/** A part of an assistant message; the value with this name has functions that create parts. */
export type AssistantContent = shapes.AssistantContent
/** The result of one tool call; the value with this name has functions that create results. */
export type ToolContent = ToolResultPart
/** The tokens of a request and its answer; the value with this name has functions for them. */
export type Usage = CompletionUsage

/** Further fields of a tool result. */
export type ToolResultOptions = { callId?: string; toolName?: string; isError?: boolean }

export const Message = {
  system: (content: string): SystemMessage => ({ role: 'system', content }),

  user: (content: string | UserContent[]): UserMessage => ({
    role: 'user',
    content: typeof content === 'string' ? [text(content)] : content,
  }),

  assistant: (content: string | AssistantContent[], id?: string): AssistantMessage => ({
    role: 'assistant',
    ...omitUndefined({ id }),
    content: typeof content === 'string' ? [text(content)] : content,
  }),

  tool: (content: ToolContent | ToolContent[]): ToolMessage => ({
    role: 'tool',
    content: Array.isArray(content) ? content : [content],
  }),

  /** Creates a message with one tool result: text and images unchanged, anything else as JSON. */
  toolResult: (id: string, output: unknown, options: ToolResultOptions = {}): ToolMessage => {
    const content = isToolResultContentArray(output) ? output : serializeToolOutput(output)
    return Message.tool(ToolContent.toolResult(id, content, options))
  },
}

export const UserContent = {
  text,
  /** `data` is base64 or a URL. */
  image,
  imageUrl: (url: string): ImageContent => image(url),
  imageBase64: (data: string, mediaType: string): ImageContent => image(data, mediaType),
  /** `data` is the text for text types, otherwise base64 or a URL. */
  document,
  documentUrl: (url: string, mediaType: string, options: { filename?: string } = {}): DocumentContent =>
    document(url, mediaType, options.filename),
  documentBase64: (data: string, mediaType: string, options: { filename?: string } = {}): DocumentContent =>
    document(data, mediaType, options.filename),
  documentText: text,
}

export const AssistantContent = {
  text,
  image,
  imageUrl: UserContent.imageUrl,
  imageBase64: UserContent.imageBase64,

  reasoning: (said: string, id?: string, signature?: string): ReasoningContent => ({
    type: 'reasoning',
    text: said,
    ...omitUndefined({ id, signature }),
  }),

  /** Creates reasoning as a provider sent it. Encrypted or redacted parts go back with the history, but are hidden. */
  reasoningFromContent: (content: ReasoningPart[], id?: string): ReasoningContent => ({
    type: 'reasoning',
    text: reasoningText({ content }),
    content,
    ...omitUndefined({ id }),
  }),
  reasoningSummary: (said: string, id?: string): ReasoningContent =>
    AssistantContent.reasoningFromContent([{ type: 'summary', text: said }], id),
  reasoningEncrypted: (data: string, id?: string): ReasoningContent =>
    AssistantContent.reasoningFromContent([{ type: 'encrypted', data }], id),
  reasoningRedacted: (data: string, id?: string): ReasoningContent =>
    AssistantContent.reasoningFromContent([{ type: 'redacted', data }], id),

  toolCall: (id: string, name: string, args: JsonValue, callId?: string): ToolCallContent => ({
    type: 'tool_call',
    id,
    ...omitUndefined({ callId }),
    function: { name, arguments: args },
  }),
}

export const ToolContent = {
  toolResult: (
    id: string,
    content: string | ToolResultContent[],
    callIdOrOptions: string | ToolResultOptions = {},
    toolName?: string,
  ): ToolResultPart => ({
    type: 'tool_result',
    id,
    ...(typeof callIdOrOptions === 'string' ? { callId: callIdOrOptions } : callIdOrOptions),
    ...omitUndefined({ toolName }),
    content: typeof content === 'string' ? [text(content)] : content,
  }),
}

export const Usage = {
  empty: (): Usage => ({ inputTokens: 0, outputTokens: 0, totalTokens: 0 }),

  add: (left: Usage, right: Usage): Usage => ({
    inputTokens: left.inputTokens + right.inputTokens,
    outputTokens: left.outputTokens + right.outputTokens,
    totalTokens: left.totalTokens + right.totalTokens,
    ...sum('cachedInputTokens', left, right),
    ...sum('cacheCreationInputTokens', left, right),
    ...sum('reasoningTokens', left, right),
  }),
}

/** Returns the part of the reasoning that can be shown. */
export function reasoningText({ text: said = '', content }: Partial<ReasoningContent>): string {
  if (content === undefined) return said
  return content.flatMap((part) => ('text' in part ? [part.text] : [])).join('')
}

function text(said: string): TextContent {
  return { type: 'text', text: said }
}

function image(data: string, mediaType?: string): ImageContent {
  return { type: 'image', data, ...omitUndefined({ mediaType }) }
}

function document(data: string, mediaType?: string, name?: string): DocumentContent {
  return {
    type: 'document',
    data,
    ...omitUndefined({ mediaType, name }),
  }
}

/** A count that is missing on both sides stays undefined. */
function sum(
  field: 'cachedInputTokens' | 'cacheCreationInputTokens' | 'reasoningTokens',
  left: Usage,
  right: Usage,
): Partial<Usage> {
  if (left[field] === undefined && right[field] === undefined) return {}
  return { [field]: (left[field] ?? 0) + (right[field] ?? 0) }
}
