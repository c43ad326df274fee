export { AnswerBuilder, type AnswerEnd, type OpenToolCall } from './answer-builder.js'
export { type ChatDialect, type ChatModelOptions, createChatModel } from './chat/index.js'
export { ModelError, type ModelErrorCode, type ModelErrorFacts, modelErrorCodes } from './errors.js'
export { correctionOf, estimateMessageTokens, estimateTokens } from './estimate-tokens.js'
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
} from './model.js'
export { createModel, type ModelConfig } from './provider.js'
export type { RetryTiming } from './retry.js'
export { addUsage, costOf, noUsage } from './usage.js'
