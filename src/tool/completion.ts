import type { ToolResultContent } from './content.js'
import type { ToolDefinition } from './definition.js'
import type { JsonObject, JsonSchema, JsonValue } from './json.js'

/** The data that a run exchanges with a completion model, as middleware sees it. Types only. */

/** Text. */
export type TextContent = { type: 'text'; text: string }
/** An image. `data` is base64 or a URL. */
export type ImageContent = { type: 'image'; data: string; mediaType?: string }
/** A document. `data` is its text, base64 or a URL. */
export type DocumentContent = { type: 'document'; data: string; mediaType?: string; name?: string }
/**
 * The model's reasoning. `text` can be shown. `content` must go back to the provider unchanged; parts of it may be
 * encrypted.
 */
export type ReasoningContent = {
  type: 'reasoning'
  text: string
  id?: string
  signature?: string
  content?: ReasoningPart[]
}
/** A part of a model's reasoning. */
export type ReasoningPart =
  | { type: 'text'; text: string; signature?: string }
  | { type: 'summary'; text: string }
  | { type: 'encrypted'; data: string }
  | { type: 'redacted'; data: string }
/** A tool call of the model. */
export type ToolCallContent = {
  type: 'tool_call'
  id: string
  callId?: string
  function: { name: string; arguments: JsonValue }
  signature?: string
}
/** The result of one tool call. */
export type ToolResultPart = {
  type: 'tool_result'
  id: string
  callId?: string
  toolName?: string
  content: ToolResultContent[]
  /** The call failed; the content says why. */
  isError?: boolean
}

/** A part of a user message. */
export type UserContent = TextContent | ImageContent | DocumentContent
/** A part of an assistant message. */
export type AssistantContent = TextContent | ToolCallContent | ReasoningContent | ImageContent

/** A message with instructions. */
export type SystemMessage = { role: 'system'; content: string }
/** A message of the user. */
export type UserMessage = { role: 'user'; content: UserContent[] }
/** A message of the model. */
export type AssistantMessage = { role: 'assistant'; id?: string; content: AssistantContent[] }
/** A message with the results of tool calls. */
export type ToolMessage = { role: 'tool'; content: ToolResultPart[] }
/** One message of a conversation. */
export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage

/** A document that is shown to the model at the start of the conversation. */
export type ContextDocument = { id: string; text: string; additionalProps?: JsonObject }
/** Whether the model can, must or must not call tools. */
export type ToolChoice = 'auto' | 'none' | 'required' | { type: 'tool'; name: string }

/** The tokens of a request and its answer. */
export type CompletionUsage = {
  inputTokens: number
  outputTokens: number
  totalTokens: number
  cachedInputTokens?: number
  /** Tokens that were written to the provider's cache. */
  cacheCreationInputTokens?: number
  reasoningTokens?: number
}

/** A request to a completion model. */
export type CompletionRequest<ModelName extends string = string> = {
  model?: ModelName
  instructions?: string
  chatHistory: Message[]
  documents: ContextDocument[]
  tools: ToolDefinition[]
  temperature?: number
  maxTokens?: number
  toolChoice?: ToolChoice
  additionalParams?: JsonObject
  outputSchema?: JsonSchema
}

/** The answer of a completion model. */
export type CompletionResponse<Raw = unknown> = {
  choice: AssistantContent[]
  usage: CompletionUsage
  rawResponse: Raw
  messageId?: string
}
