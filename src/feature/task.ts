import type { TaskCounters } from '../loop/events.js'
import type { JsonSchema } from '../tool/json.js'

/** Runs tasks with other agents: each is a session on the same workspace, with no more authority than the caller. */
export interface RuntimeTasks {
  /**
   * Waits for all tasks and returns their results in order. Rejects only for tasks that cannot start: too many,
   * nested too deeply, or an unknown agent of a single task. Among several tasks, an unknown agent fails only its own
   * task.
   */
  run(
    requests: readonly TaskRequest[],
    options?: { readonly signal?: AbortSignal },
  ): Promise<readonly TaskOutcome[]>
  /** Starts a task without waiting for it; the model gets its result later. */
  start(request: TaskRequest): Promise<{ readonly taskId: string; readonly sessionId: string }>
}

/** Work for another agent. */
export type TaskRequest = {
  /** The name of an agent, or an agent created for this task. */
  readonly agent: string | TaskAgent
  /** A short description for users. */
  readonly description: string
  readonly prompt: string
  readonly maxSteps?: number | undefined
  /** The JSON Schema that the answer must match. */
  readonly outputSchema?: JsonSchema | undefined
  /** `worktree`: the agent works in its own checkout of the last commit, and the result has its changes. */
  readonly isolation?: 'worktree' | undefined
}

/** An agent created for one task. Its permissions are a subset of the caller's. */
export type TaskAgent = {
  readonly name: string
  /** The agent's system prompt. */
  readonly prompt: string
  /** The tools it has, a subset of the caller's; absent: all of them. */
  readonly tools?: readonly string[]
  /** Additional rules, in the form of a `permissionPolicy`; absent: only the caller's rules apply. */
  readonly permissions?: {
    readonly deny?: readonly string[]
    readonly ask?: readonly string[]
    readonly allow?: readonly string[]
    readonly defaultDecision?: 'allow' | 'deny' | 'ask'
  }
  readonly maxSteps?: number | undefined
  /** Runs every task of this agent in a separate worktree. */
  readonly isolation?: 'worktree' | undefined
}

/** The changes of a task that worked in its own worktree. They are not in the workspace. */
export type TaskChanges = {
  /** The commit that the worktree was created from. */
  readonly base: string
  readonly files: readonly { readonly path: string; readonly status: 'added' | 'modified' | 'deleted' }[]
  /** A patch in the form that `git apply` reads. */
  readonly patch: string
  /** A file of the session with the patch, which tools can read. */
  readonly patchPath: string
  /** Changed files that differ between the workspace and the base commit: the patch may not apply to them. */
  readonly conflicts: readonly string[]
  /** Changed files that rules deny the parent to read: they are not in the patch. */
  readonly hidden?: readonly string[] | undefined
  /** What git could not read in the worktree, and is therefore not in the patch. */
  readonly problem?: string | undefined
}

/** The result of a task. */
export type TaskOutcome = {
  readonly taskId: string
  /** The id of the session that ran the task. */
  readonly sessionId: string
  readonly agent: string
  readonly description: string
  readonly success: boolean
  /** The agent's last text, even if it did not finish. */
  readonly output: string
  /** What failed; absent when nothing did. */
  readonly error?: string
  /** The answer as data, if there was an output schema. */
  readonly structured?: unknown
  /** What was changed in the worktree of the task; absent for a task that works in the workspace. */
  readonly changes?: TaskChanges | undefined
  readonly counters: TaskCounters
}

declare module '../tool/session-services.js' {
  interface RuntimeSession {
    readonly tasks?: RuntimeTasks
  }
}
