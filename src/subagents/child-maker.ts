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
  /** The directory that the task works in, if it is not the workspace of the parent. */
  readonly root?: string | undefined
  readonly timeoutMs: number
  /** The message of the user that the parent was working on. */
  readonly messageId?: string | undefined
  /** The run that owns the changes to files: undoing it also undoes the changes of its subagents. */
  readonly changesOf: string
  readonly budget: Budget
  /** Answers approval questions; absent: such calls are denied. */
  readonly onAsk?: AskHandler | undefined
  readonly onQuestion?: QuestionHandler | undefined
}

/** The session that performs a task. */
export type ChildSession = Omit<TaskSession, 'close'> & { close(): Promise<void> }

/** Creates the sessions of subagents. The agent passes it to each of its sessions. */
export interface ChildMaker {
  /** The agents that every session knows. */
  readonly agents: readonly AgentDefinition[]
  open(parent: FeatureContext, engine: Engine, task: ChildTask): ChildSession
}
