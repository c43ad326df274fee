export type { AgentResult } from './agent-result.js'
export type { SideAnswer } from './btw.js'
export type { ConfirmationPolicy, PendingConfirmation } from './confirmations.js'
export type { GitCommand, ProgramRequest } from './direct-tools.js'
export {
  ResumeError,
  RunExistsError,
  SessionBusyError,
  SessionClosedError,
  SessionOptionError,
  ToolFailedError,
} from './errors.js'
export { EventStream } from './event-stream.js'
export { HistoryError, type HistoryErrorCode } from './history/errors.js'
export type { ForkPoint } from './history/fork.js'
export type { MessageInfo, RewindOutcome } from './history/rewind.js'
export type { FileChangeInfo, UndoOutcome } from './history/undo.js'
export type { ContentBlock, HistoryMessage } from './history-blocks.js'
export type { ObjectOptions, ObjectResult } from './objects-for-host.js'
export type {
  AutoDelegation,
  CommandOption,
  DelegationOptions,
  HookOption,
  QuestionHandler,
  QuestionSource,
  RetentionLimits,
  RetryOptions,
  SessionLabels,
  SessionOptions,
} from './options.js'
export type { AgentInfo } from './parts/known-agents.js'
export type { PromptSlots } from './prompt/system-prompt.js'
export { type ReplayDifference, ReplayError } from './replay/difference.js'
export { type RecordedModelOptions, recordedModel } from './replay/recorded-model.js'
export type { RecordedSource } from './replay/recording.js'
export { type ReplayOptions, type ReplayStep, replaySession } from './replay/replay-session.js'
export type { Attachment, SendOptions, SendRequest } from './request.js'
export type { ResumeRunOptions } from './resume-run.js'
export type { RunEvent } from './run-events.js'
export type { RunSnapshot, RunStatus } from './runs.js'
export * from './security/index.js'
export { type ServeMcpOptions, serveMcp } from './serve-mcp.js'
export { Session } from './session-class.js'
export type { ToolSearchMode } from './shown-limits.js'
export type { ModelSpending, Spending } from './spending.js'
export type { TaskOptions } from './surface/tasks.js'
export type { ToolInfo } from './tool-facts.js'
export type { TraceEvent } from './trace.js'
export { readUiApprovals, type UiApprovalAnswer, type UiApprovals } from './ui-approvals.js'
export type { UiDataChunk, UiFinishReason, UiMessageChunk, UiToolChunk } from './ui-message-chunk.js'
export { toUiMessageChunks, toUiMessageResponse, type UiMessageSource } from './ui-message-stream.js'
export type { UiMessageOptions } from './ui-message-writer.js'
export type { UiPromptEvent } from './ui-prompt-event.js'
