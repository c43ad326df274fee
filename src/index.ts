export * from './agent/index.js'
export type { Manifest } from './authority/manifest.js'
export type { RuntimeMode } from './authority/mode.js'
export { matchesArg, matchesCommand, unionRequirements } from './authority/requirements.js'
export * from './authority/variables.js'
export type { CommandContext, CommandHandler, CommandInfo } from './commands/index.js'
export { CommandError } from './commands/index.js'
export type { RuntimeTasks, TaskAgent, TaskChanges, TaskOutcome, TaskRequest } from './feature/task.js'
export type { RuntimeTrace } from './feature/trace.js'
export type {
  HookAnswer,
  HookConfig,
  HookEvent,
  HookEventName,
  HookHandler,
  HookMatcher,
  HookPayloads,
  HookStatus,
} from './hooks/index.js'
export { HookError, hookEventNames } from './hooks/index.js'
export type { AskAnswer, AskHandler, AskRequest } from './loop/ask.js'
export type { BudgetDecision, BudgetGuard, BudgetRequest, GuardUsage } from './loop/budget.js'
export * from './loop/errors.js'
export type {
  AgentEvent,
  AgentEventType,
  ClusterEvent,
  GoalEnd,
  GoalOutcome,
  QueueEvent,
  RunSummary,
  SubagentEvent,
  TaskCounters,
  VerificationEvent,
  VerificationSummary,
} from './loop/events.js'
export {
  type Clock,
  FixedClock,
  type HostEnv,
  type IdGenerator,
  SequentialIdGenerator,
} from './loop/host-env.js'
export type { RunLimits } from './loop/run-parts.js'
export * from './loop/stop-conditions.js'
export { McpError, type McpErrorCode } from './mcp/errors.js'
export type * from './mcp/host-types.js'
export type { McpOauthOptions, McpSandbox, McpServerOptions, McpTransportName } from './mcp/server-options.js'
export {
  checkMemoryItem,
  FileMemoryStore,
  type FileMemoryStoreOptions,
  InProcessMemoryStore,
  MemoryError,
  type MemoryErrorCode,
  type MemoryItem,
  type MemoryOptions,
  type MemoryStats,
  type MemoryStore,
  type MemoryType,
  type PrunePolicy,
  type RecalledMemory,
  type RelevanceWeights,
  type RuntimeMemory,
} from './memory/index.js'
export { ModelError, type ModelErrorCode } from './model/errors.js'
export type { Model, ModelFacts } from './model/model.js'
export {
  type ObjectErrorCode,
  ObjectGenerationError,
  type ObjectIssue,
} from './model/object/errors.js'
export type * from './model/object/object-request.js'
export { createModel, type ModelConfig } from './model/provider.js'
export { QueueError, type QueueErrorCode } from './queue/errors.js'
export * from './queue/index.js'
export * from './session/index.js'
export { builtinSkills } from './skills/builtin/index.js'
export { SkillError, SkillNotFoundError } from './skills/errors.js'
export type { InlineSkill, SkillInfo, SkillKind, SkillSource } from './skills/skill.js'
export type { RuntimeSkills, SkillSummary } from './skills/skill-services.js'
export { SessionLockedError, StoreError, type StoreErrorCode } from './store/errors.js'
export { FileSessionStore } from './store/file/file-session-store.js'
export { MemorySessionStore } from './store/memory-store.js'
export type { Durability, SessionInfo, SessionStore } from './store/session-store.js'
export { SqliteSessionStore } from './store/sqlite/sqlite-store.js'
export type { Todo, TodoStatus } from './store/todo.js'
export type * from './store/verification.js'
export { AgentFileError } from './subagents/files/errors.js'
export type { WorkerAgentSpec, WorkerKind } from './subagents/files/worker-spec.js'
export { TaskLimitError } from './subagents/limits.js'
export type {
  ParallelOutcome,
  PipelineStage,
  StepConflict,
  StepOutcome,
  StepSpec,
} from './subagents/orchestrate.js'
export type { SubagentTaskSnapshot, TaskProgress, TaskStatus } from './subagents/task-record.js'
export * from './supervise/index.js'
export type { SupervisorStatus } from './supervise/supervisor.js'
export type { TelemetryOptions } from './telemetry/options.js'
export * from './tool/index.js'
export type { StreamLike } from './tool/stream-like.js'
export { VerificationError } from './verify/errors.js'
export type {
  GivenCheck,
  GivenReport,
  PresetCommand,
  VerificationPreset,
  VerifyRequirement,
} from './verify/index.js'
export { formatVerificationSummary } from './verify/summary.js'
export { LocalWorkspaceBackend } from './workspace/local-backend.js'
