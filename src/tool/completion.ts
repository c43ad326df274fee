import type { ToolResultContent } from './content.js'
import type { ToolDefinition } from './definition.js'
import type { JsonObject, JsonSchema, JsonValue } from './json.js'

/** The shapes in which a run speaks to a completion model, as middleware sees them. Types only. */

export type TextContent = { type: 'text'; text: string }
export type ImageContent = { type: 'image'; data: string; mediaType?: string }
export type DocumentContent = { type: 'document'; data: string; mediaType?: string; name?: string }
/** `text` is what may be shown. `content` is what the provider wants back, untouched; parts of it may be encrypted. */
export type ReasoningContent = {
  type: 'reasoning'
  text: string
  id?: string
  signature?: string
  content?: ReasoningPart[]
}
export type ReasoningPart =
  | { type: 'text'; text: string; signature?: string }
  | { type: 'summary'; text: string }
  | { type: 'encrypted'; data: string }
  | { type: 'redacted'; data: string }
export type ToolCallContent = {
  type: 'tool_call'
  id: string
  callId?: string
  function: { name: string; arguments: JsonValue }
  signature?: string
}
export type ToolResultPart = {
  type: 'tool_result'
  id: string
  callId?: string
  toolName?: string
  content: ToolResultContent[]
  /** The call failed, and the content says why. */
  isError?: boolean
}

export type UserContent = TextContent | ImageContent | DocumentContent
export type AssistantContent = TextContent | ToolCallContent | ReasoningContent | ImageContent

export type SystemMessage = { role: 'system'; content: string }
export type UserMessage = { role: 'user'; content: UserContent[] }
export type AssistantMessage = { role: 'assistant'; id?: string; content: AssistantContent[] }
export type ToolMessage = { role: 'tool'; content: ToolResultPart[] }
export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage

export type ContextDocument = { id: string; text: string; additionalProps?: JsonObject }
export type ToolChoice = 'auto' | 'none' | 'required' | { type: 'tool'; name: string }

export type CompletionUsage = {
  inputTokens: number
  outputTokens: number
  totalTokens: number
  cachedInputTokens?: number
  /** Tokens that were written to the provider's cache. */
  cacheCreationInputTokens?: number
  reasoningTokens?: number
}

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

export type CompletionResponse<Raw = unknown> = {
  choice: AssistantContent[]
  usage: CompletionUsage
  rawResponse: Raw
  messageId?: string
}
