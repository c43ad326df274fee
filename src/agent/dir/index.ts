/** Agent directories and schedules. */
export type {
  AgentDir,
  AgentDirTool,
  CatchUpPolicy,
  OverlapPolicy,
  ScheduleDefinition,
  ScriptToolDefinition,
} from './agent-dir.js'
export { AgentDirError, type AgentDirProblem, ScheduleError, type ScheduleErrorCode } from './errors.js'
export type { AgentDirHandle, ServeHandle, ServeState } from './handle.js'
export { type LoadAgentDirOptions, loadAgentDir } from './load-agent-dir.js'
export type { ScheduleClock } from './schedule-clock.js'
export type { FireReport, ScheduleStatus, ServeEvent, ServeListener, SkipReason } from './serve-events.js'
export type { ServeAgentDirOptions } from './serve-options.js'
