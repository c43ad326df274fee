/** The entry `capstan/model`: language models. */

export type { AccessToken } from './access-token.js'
export {
  type AiSdkKind,
  type AiSdkModel,
  type AiSdkModelOptions,
  createAiSdkModel,
  type FromAiSdkOptions,
  fromAiSdk,
  isAiSdkModel,
} from './ai-sdk/index.js'
export { AnswerBuilder, type AnswerEnd, type OpenToolCall } from './answer-builder.js'
export type { AwsAccess } from './bedrock/sign.js'
export { type CatalogueEntry, catalogueEntries, catalogueEntry } from './catalogue/catalogue.js'
export { type ChatDialect, type ChatModelOptions, createChatModel } from './chat/index.js'
export { assertCompletionRequestSupported, CompletionCapabilityError } from './completion-capability.js'
export {
  type CompletionModel,
  type CompletionModelCapabilities,
  type CompletionStreamEvent,
  type FromCompletionModelOptions,
  fromCompletionModel,
  isCompletionModel,
  type StreamingCompletionModel,
} from './completion-model.js'
export type { ReasoningEffort } from './effort.js'
export { ModelError, type ModelErrorCode, type ModelErrorFacts, modelErrorCodes } from './errors.js'
export { estimateMessageTokens, estimateTokens } from './estimate-tokens.js'
export { lowerHistory } from './lower-history.js'
export type {
  FinishReason,
  Model,
  ModelAnswer,
  ModelCall,
  ModelEvent,
  ModelFacts,
  ModelPrice,
  ModelToolCall,
  ModelUsage,
  PriceTier,
  PromptCache,
  ReasoningLevel,
} from './model.js'
export type {
  GeneratedObject,
  ObjectRequest,
  PartialObject,
  RuntimeObjects,
} from './object/object-request.js'
export { type OfflineModelOptions, offlineModel } from './offline/offline-model.js'
export type { RateLimit } from './pacer.js'
export { createModel, type ModelConfig } from './provider.js'
export type { RetryTiming } from './retry.js'
export { costOf } from './usage.js'
