import type { Authority } from '../authority/decide.js'
import type { Hooks } from '../hooks/index.js'
import type { AskHandler } from '../loop/ask.js'
import type { Budget } from '../loop/budget.js'
import type { GateParts } from '../loop/gate-parts.js'
import type { Delegation } from '../loop/session-authority.js'
import type { SessionRow } from '../store/records.js'
import type { AgentDefinition } from '../subagents/agent-definition.js'
import type { AgentRegistry } from '../subagents/agent-registry.js'
import type { TaskFamily } from '../subagents/limits.js'
import type { TaskSession } from '../subagents/perform-task.js'
import type { SessionCore } from './core.js'
import type { Engine } from './engine.js'
import type { FileChanges } from './history/file-changes.js'
import type { QuestionHandler, SessionOptions } from './options.js'
import type { OutsideDirectories } from './outside-directories.js'
import type { Supervision } from './parts/supervision.js'

/** What the session of a subagent has of its parent. */
export type ParentLink = {
  readonly sessionId: string
  /** What the parent was asked when it handed the work on. */
  readonly messageId?: string
  readonly taskId: string
  readonly inspectable: boolean
  /** 1 for the child of a session that is nobody's child. */
  readonly depth: number
  readonly family: TaskFamily
  readonly agents: AgentRegistry
  readonly hooks: Hooks
  /** Whoever supervises the parent supervises its children. */
  readonly supervision?: Supervision
  readonly budget: Budget
  /** What holds for the parent at this moment. */
  authority(child: Delegation): Authority
  /** Where changes to files are noted, and as whose: undoing a run of the parent undoes what its subagents did for it. */
  readonly changes: FileChanges
  readonly changesOf: string
  /** The directories outside the workspace that are open. */
  readonly places: OutsideDirectories
  /** The lanes that its calls pass as well; absent where the parent has none. */
  readonly lane?: NonNullable<GateParts['lane']>
  /** What the log keeps in place of the child's own rules: opened by itself, it has the denies of all above it and the allows of none. */
  readonly kept: Pick<SessionOptions, 'permissionPolicy' | 'mode' | 'builtinTools'>
}

/** A task, as the session that does it is made for it. */
export type ChildTask = {
  readonly taskId: string
  readonly sessionId: string
  readonly agent: AgentDefinition
  readonly maxSteps?: number
  readonly timeoutMs: number
  readonly messageId?: string
  readonly changesOf: string
  readonly family: TaskFamily
  readonly budget: Budget
  /** Who decides about calls that must be asked about; absent: nobody. */
  readonly onAsk?: AskHandler
  readonly onQuestion?: QuestionHandler
}

/** Makes the sessions of subagents: the agent lends it to each of its sessions. */
export interface ChildMaker {
  /** The agents that every session knows. */
  readonly agents: readonly AgentDefinition[]
  open(parent: SessionCore, engine: Engine, task: ChildTask): TaskSession
}

/** What the log of a subagent's session says of where it belongs. */
export function childRow(
  parent: ParentLink | undefined,
): Pick<SessionRow, 'parentId' | 'parentMessageId' | 'task'> {
  if (parent === undefined) return {}
  const { sessionId: parentId, messageId, taskId: id, inspectable } = parent
  return {
    parentId,
    ...(messageId !== undefined && { parentMessageId: messageId }),
    task: { id, inspectable },
  }
}
