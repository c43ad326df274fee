import type { Rule } from '../authority/rule.js'
import type { Watchdog } from '../authority/watchdog.js'
import type { Hooks } from '../hooks/index.js'
import type { Budget } from '../loop/budget.js'
import type { AgentEvent } from '../loop/events.js'
import type { CallRecord } from '../loop/gate-parts.js'
import type { RunIdentity } from '../tool/contract.js'
import type { AgentMiddleware } from '../tool/middleware.js'
import type { ParentLink } from './child.js'
import type { Confirmations } from './confirmations.js'
import type { FileChanges } from './history/file-changes.js'
import type { RestoredSession } from './journal/restore.js'
import type { SessionRecorder } from './journal/session-recorder.js'
import type { SessionOptions } from './options.js'
import type { OutsideDirectories } from './outside-directories.js'
import type { SessionPart } from './part.js'
import type { PlanProgress } from './plan-progress.js'
import type { ToolRegistry } from './tool-registry.js'

/** What the machinery of a session is made from. */
export type EngineParts = {
  /** The real path. */
  readonly root: string
  readonly userDir: string
  readonly options: SessionOptions
  /** What the store has of this session from before. */
  readonly restored?: RestoredSession
  /** For the session of a subagent. */
  readonly parent?: ParentLink
  readonly shelf: ToolRegistry
  readonly hooks: Hooks
  readonly budget: Budget
  readonly confirmations: Confirmations
  readonly plan: PlanProgress
  readonly changes: FileChanges
  readonly middleware: readonly AgentMiddleware[]
  readonly places: OutsideDirectories
  readonly watchdogs: readonly Watchdog[]
  /** Rules that were agreed to for this session before. */
  readonly sessionRules: readonly Rule[]
  readonly keeper?: SessionRecorder
  /** What one concern keeps for this session. */
  part<T>(part: SessionPart<T>): T
  /** Whose call it is at this moment. */
  identity(): RunIdentity
  emit(event: AgentEvent): void
  record(record: CallRecord): void
  now(): number
  newId(): string
}
