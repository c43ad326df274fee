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

/** What an agent hands to each of its sessions. */
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
    /** Where instruction files are looked for, and how much of them is read. */
    readonly instructions?: Pick<InstructionOptions, 'fileNames' | 'maxBytes' | 'userDir'> | undefined
    /** Values that must not leave the process: keys of the configuration. */
    readonly secrets?: readonly string[] | undefined
    /** What the store has of this session from before. */
    readonly restored?: RestoredSession | undefined
    /** Returns built-in tools that need something of the agent. */
    readonly agentTools?: (() => readonly AnyTool[]) | undefined
    /** Set in the session of a subagent. */
    readonly parent?: ParentLink | undefined
    /** The model of this name, or the default one. */
    resolveModel(name?: string): Model
    /** The circuit breakers of the agent's models. */
    readonly circuits?: Circuits | undefined
    /** The session takes no more calls; `ended` settles when nothing of it is left. */
    closed(ended: Promise<void>): void
  }

/** What the session of a subagent has of its parent. Features find the state of the parent through `session`. */
export type ParentLink = {
  readonly session: SessionKernel
  /** The message that the parent worked on when it started the task. */
  readonly messageId?: string | undefined
  readonly taskId: string
  readonly inspectable: boolean
  /** 1 for the child of a session that has no parent. */
  readonly depth: number
  readonly budget: Budget
  /** The authority of the parent at this moment. */
  authority(child: Delegation): Authority
  /** The run that changes to files belong to: undoing it undoes what its subagents did. */
  readonly changesOf: string
  /** It works in a directory of its own: what it does to files there is not the parent's. */
  readonly isolated?: boolean | undefined
  /**
   * What the log says in place of the child's own rules: opened by itself, it has the denies of all above it and the
   * allows of none.
   */
  readonly savedOptions: Pick<SessionOptions, 'permissionPolicy' | 'mode' | 'builtinTools'>
}

/** Where a session works, if not in a directory of this machine. */
export function backendOf({ options, parent }: SessionSetup): WorkspaceBackend | undefined {
  const { workspaceBackend } = options
  return isBackend(workspaceBackend) && parent?.isolated !== true ? workspaceBackend : undefined
}

/** The parent in the log of a subagent's session. */
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
