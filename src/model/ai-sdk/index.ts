export { type AiSdkModel, isAiSdkModel } from './ai-sdk-model.js'
export { type AiSdkKind, type AiSdkModelOptions, createAiSdkModel } from './create-ai-sdk-model.js'
export { type FromAiSdkOptions, fromAiSdk } from './from-ai-sdk.js'
