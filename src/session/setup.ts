import type { Authority } from '../authority/decide.js'
import type { Budget } from '../loop/budget.js'
import type { Delegation } from '../loop/session-authority.js'
import type { McpSetup } from '../mcp/session-servers.js'
import type { Circuits } from '../model/circuits.js'
import type { Model } from '../model/model.js'
import type { SessionRow } from '../store/records.js'
import type { SubagentSetup } from '../subagents/options.js'
import type { TelemetrySetup } from '../telemetry/feature.js'
import type { AnyTool } from '../tool/contract.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { isBackend, type WorkspaceBackend } from '../workspace/backend/backend.js'
import type { InstructionOptions } from '../workspace/instructions/read-instructions.js'
import type { RestoredSession } from './journal/restore.js'
import type { SessionKernel } from './kernel.js'
import type { SessionOptions } from './options.js'

/** What an agent passes to each of its sessions. */
export type SessionSetup = McpSetup &
  SubagentSetup &
  TelemetrySetup & {
    readonly sessionId: string
    readonly agentId: string
    /** The real path of the workspace. */
    readonly root: string
    /** The user's own directory: rules and instructions for every project. */
    readonly userDir: string
    readonly options: SessionOptions
    readonly warnings: readonly string[]
    /** The locations of instruction files, and how much of them is read. */
    readonly instructions?: Pick<InstructionOptions, 'fileNames' | 'maxBytes' | 'userDir'> | undefined
    /** Values that must not leave the process: keys of the configuration. */
    readonly secrets?: readonly string[] | undefined
    /** The state of this session that the store had when the session was opened. */
    readonly restored?: RestoredSession | undefined
    /** Returns built-in tools that need access to the agent. */
    readonly agentTools?: (() => readonly AnyTool[]) | undefined
    /** Set in the session of a subagent. */
    readonly parent?: ParentLink | undefined
    /** Returns the model with this name, or the default one. */
    resolveModel(name?: string): Model
    /** The circuit breakers of the agent's models. */
    readonly circuits?: Circuits | undefined
    /** Called when the session accepts no more calls; `ended` settles when it has released everything. */
    closed(ended: Promise<void>): void
  }

/** The link of a subagent's session to its parent. Features access the state of the parent through `session`. */
export type ParentLink = {
  readonly session: SessionKernel
  /** The message that the parent was processing when it started the task. */
  readonly messageId?: string | undefined
  readonly taskId: string
  readonly inspectable: boolean
  /** 1 for the child of a session that has no parent. */
  readonly depth: number
  readonly budget: Budget
  /** Returns the current authority of the parent. */
  authority(child: Delegation): Authority
  /** The run that file changes are attributed to: undoing it also undoes what its subagents did. */
  readonly changesOf: string
  /** Whether the child works in a separate directory: its file changes there are not the parent's. */
  readonly isolated?: boolean | undefined
  /**
   * The options that the log has instead of the child's own rules: if the child is opened by itself, it has the deny
   * rules of all its ancestors and none of their allow rules.
   */
  readonly savedOptions: Pick<SessionOptions, 'permissionPolicy' | 'mode' | 'builtinTools'>
}

/** Returns the workspace backend of a session; undefined for a directory of this machine. */
export function backendOf({ options, parent }: SessionSetup): WorkspaceBackend | undefined {
  const { workspaceBackend } = options
  return isBackend(workspaceBackend) && parent?.isolated !== true ? workspaceBackend : undefined
}

/** Returns the parent for the log of a subagent's session. */
export function childRow(
  parent: ParentLink | undefined,
): Pick<SessionRow, 'parentId' | 'parentMessageId' | 'task'> {
  if (parent === undefined) return {}
  const { session, messageId, taskId: id, inspectable } = parent
  return {
    parentId: session.sessionId,
    ...omitUndefined({ parentMessageId: messageId }),
    task: { id, inspectable },
  }
}
