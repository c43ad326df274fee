/** The entry `capstan/tool`: everything about defining and calling tools. Runs in any JavaScript runtime. */
export * from './approval.js'
export type * from './completion.js'
export {
  isToolResultContentArray,
  type ToolResultContent,
  type ToolResultImage,
  type ToolResultText,
  toolResultContentToText,
} from './content.js'
export {
  type AnyGovernedTool,
  type AnyTool,
  type GovernedTool,
  isGovernedTool,
  type OutputLimits,
  type Preparation,
  type RunIdentity,
  type Tool,
  type ToolCallContext,
  type ToolCallStreamEvent,
  type ToolKind,
  toolKinds,
} from './contract.js'
export { type CreateJsonToolOptions, createJsonTool } from './create-json-tool.js'
export { type CreateToolOptions, createTool, type ToolOutput } from './create-tool.js'
export type { ToolDefinition } from './definition.js'
export {
  type Envelope,
  type EnvelopeMetadata,
  type ErrorEnvelope,
  errorEnvelope,
  isEnvelope,
  isErrorEnvelope,
  isOutputEnvelope,
  type OutputEnvelope,
  outputEnvelope,
} from './envelope.js'
export { CapstanError, ToolCallError, ToolJsonError, ToolNotFoundError } from './errors.js'
export { type GovernedOptions, governTool } from './govern.js'
export type { JsonObject, JsonPrimitive, JsonSchema, JsonValue } from './json.js'
export { JsonTextError } from './json-text.js'
export {
  AssistantContent,
  Message,
  ToolContent,
  type ToolResultOptions,
  Usage,
  UserContent,
} from './message.js'
export {
  type AgentMiddleware,
  applyCompletionRequest,
  applyCompletionResponse,
  applyToolInput,
  applyToolOutput,
  type CompletionRequestMiddlewareArgs,
  type CompletionRequestMiddlewareResult,
  type CompletionResponseMiddlewareArgs,
  type CompletionResponseMiddlewareResult,
  composeMiddleware,
  createMiddleware,
  createToolMiddleware,
  type ToolInputMiddlewareArgs,
  type ToolInputMiddlewareResult,
  type ToolMiddleware,
  type ToolOutcomeContent,
  type ToolOutputMiddlewareArgs,
  type ToolOutputMiddlewareResult,
  type ToolResultMiddlewareArgs,
  withoutOutputMiddleware,
} from './middleware.js'
export type { ArgumentProblem } from './problem.js'
export type * from './requirement.js'
export type * from './runtime.js'
export type {
  EmbeddedDocument,
  Embedding,
  EmbeddingModel,
  VectorMetadata,
  VectorMetadataValue,
} from './search/embedding.js'
export { createToolIndex } from './search/embedding-index.js'
export { matchesVectorFilter, type VectorFilter, vectorFilter } from './search/filter.js'
export * from './search/hashing-embedding.js'
export { createLexicalToolIndex, type LexicalToolIndexOptions } from './search/lexical-index.js'
export { type EmbedToolsOptions, embedTools, type ToolSearchDocument } from './search/tool-document.js'
export { type DynamicToolIndex, isDynamicToolIndex, type UpdatableToolIndex } from './search/tool-index.js'
export type * from './search/vector-index.js'
export {
  type NormalizedToolOutput,
  normalizeToolResultOutput,
  parseToolArgs,
  serializeToolOutput,
} from './serialize.js'
export type * from './session-services.js'
export type { AnySchema } from './standard-schema.js'
export type { ShellCommand, Subject } from './subject.js'
export { type CreateThinkToolOptions, createThinkTool } from './think-tool.js'
export { fromToolResult, type PlainToolResult, type ToolResult, toToolResult } from './tool-result.js'
export { ToolSet } from './tool-set.js'
export { ToolInputError, ToolOutputError } from './validation.js'
