export type {
  AgentConfig,
  AutoDelegationConfig,
  LaneHandlerConfig,
  McpOauthConfig,
  McpServerConfig,
  MemoryConfig,
  ModelEntry,
  ProviderConfig,
  QueueConfig,
  SearchConfig,
  StorageBackend,
  TaskSchedulerConfig,
} from './config.js'
export { ConfigError, type ConfigProblem } from './config-error.js'
export type { AgentConfigInput, McpServerInput, ModelInput, ProviderInput } from './config-input.js'
export { type LoadConfigOptions, type LoadedConfig, loadConfig } from './load-config.js'
export { resolveModel } from './resolve-model.js'
export { describeConfig, secretsOf } from './secrets.js'
