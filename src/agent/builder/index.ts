/** Agents without a workspace, put together from a model and tools of the host. */
export { AgentBuilder } from './agent-builder.js'
export type { AgentToolOptions } from './agent-tool.js'
export { BuiltAgent } from './built-agent.js'
export type { ToolCallDelta } from './model-for.js'
export type {
  AgentStreamEvent,
  AgentToolStreamEvent,
  PromptResponse,
  PromptToolResult,
} from './prompt-events.js'
export {
  type PromptInput,
  PromptRequest,
  type PromptStreamOptions,
  PromptUsedError,
} from './prompt-request.js'
export type { BuilderModel, DynamicToolsOptions } from './settings.js'
