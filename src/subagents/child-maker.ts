import type { Engine, FeatureContext } from '../feature/feature-context.js'
import type { QuestionHandler } from '../feature/question.js'
import type { AskHandler } from '../loop/ask.js'
import type { Budget } from '../loop/budget.js'
import type { AgentDefinition } from './agent-definition.js'
import type { TaskSession } from './perform-task.js'

/** A task, for the session that is created for it. */
export type ChildTask = {
  readonly taskId: string
  readonly sessionId: string
  readonly agent: AgentDefinition
  readonly maxSteps?: number | undefined
  /** Where it works, when that is not the workspace of the parent. */
  readonly root?: string | undefined
  readonly timeoutMs: number
  /** The message of the user that the parent was working on. */
  readonly messageId?: string | undefined
  /** The run that changes to files belong to: undoing it undoes what its subagents did. */
  readonly changesOf: string
  readonly budget: Budget
  /** Decides about calls that must be asked about; absent: they are refused. */
  readonly onAsk?: AskHandler | undefined
  readonly onQuestion?: QuestionHandler | undefined
}

/** The session of a task. */
export type ChildSession = Omit<TaskSession, 'close'> & { close(): Promise<void> }

/** Creates the sessions of subagents. The agent passes it to each of its sessions. */
export interface ChildMaker {
  /** The agents that every session knows. */
  readonly agents: readonly AgentDefinition[]
  open(parent: FeatureContext, engine: Engine, task: ChildTask): ChildSession
}
