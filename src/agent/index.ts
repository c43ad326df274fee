/** Agents and their sessions. */
export { Agent, type ForkOptions, type ResumeOptions } from './agent.js'
export * from './builder/index.js'
export {
  type AgentConfig,
  type AgentConfigInput,
  ConfigError,
  type ConfigProblem,
} from './config/index.js'
export * from './dir/index.js'
export { SessionNotFoundError, WorkspaceError } from './errors.js'
export { type AgentDefinition, AgentNotFoundError, builtinAgents } from './named-agents.js'
export type { AgentEnvironment } from './session-maker.js'
