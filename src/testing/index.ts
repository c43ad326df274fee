/** The entry `capstan/testing`: checks and test doubles for authors of tools and hosts. */

export { type RecordedModelOptions, recordedModel } from '../session/replay/recorded-model.js'
export { checkMemoryStore } from './memory-store-kit.js'
export type { ServedRequest, ServedStep } from './model-server/served-step.js'
export * from './model-server/start-model-server.js'
export type { ModelScript, ModelStep, ScriptedToolCall } from './model-step.js'
export { type RecordedCall, recordToolCall } from './record-tool-call.js'
export { checkRunQueue, type RunQueueKitOptions } from './run-queue-kit.js'
export * from './scripted-model.js'
export { checkSessionStore } from './session-store-kit.js'
export { checkToolContract, type ToolSamples } from './tool-contract.js'
export * from './workspace-backend-kit.js'
