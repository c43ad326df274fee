/** Agents without a workspace, built from a model and tools of the host. */
export { AgentBuilder } from './agent-builder.js'
export type { AgentToolOptions } from './agent-tool.js'
export { BuiltAgent } from './built-agent.js'
export { BuiltSession } from './built-session.js'
export type { CompletionRetryContext, CompletionRetryOptions } from './completion-retries.js'
export * from './create-completion.js'
export type { DynamicContextOptions } from './dynamic-context.js'
export {
  type AgentHook,
  createHook,
  type HookAction,
  PromptCancelledError,
  type RunControl,
  type ToolApprovalRequestOptions,
  type ToolCallControl,
  type ToolCallHookAction,
} from './hook.js'
export type { ToolCallDelta } from './model-for.js'
export type * from './prompt-events.js'
export type { ConversationContext, ConversationOptions, ConversationStore } from './prompt-memory.js'
export {
  type PromptInput,
  PromptRequest,
  type PromptStreamOptions,
  PromptUsedError,
} from './prompt-request.js'
export { toReadableStream } from './readable-stream.js'
export type { BuilderModel, DynamicToolsOptions } from './settings.js'
