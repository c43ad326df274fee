import type { FeatureContext } from '../feature/feature-context.js'
import type { JsonSchema } from '../tool/json.js'
import type { ToolResult } from '../tool/tool-result.js'

/** A task for another agent, as a host defines it. */
export type TaskOptions = {
  /** The name of the agent. Default: `general`. */
  readonly agent?: string
  readonly description?: string
  readonly prompt: string
  /** Returns at once; the result is reported to the model with its next round, or with the next prompt. */
  readonly background?: boolean
  readonly maxSteps?: number
  /** The JSON Schema of the answer, which is then in `metadata.structured`. */
  readonly outputSchema?: JsonSchema
  /** `worktree`: the agent works in its own checkout; its changes are in `metadata.changes`. */
  readonly isolation?: 'worktree'
}

/** Calls the tool `task` with one task, or with several. */
export function startTask(
  session: FeatureContext,
  task: TaskOptions | { readonly tasks: readonly Omit<TaskOptions, 'background'>[] },
  signal: AbortSignal | undefined,
): Promise<ToolResult> {
  const args =
    'tasks' in task && Array.isArray(task.tasks)
      ? { ...task, tasks: task.tasks.map(argsOf) }
      : argsOf(task as TaskOptions)
  return session.callTool('task', args, signal)
}

/** Calls the tool `parallel_task`. */
export function startTasks(
  session: FeatureContext,
  tasks: readonly Omit<TaskOptions, 'background'>[],
  signal: AbortSignal | undefined,
): Promise<ToolResult> {
  return session.callTool('parallel_task', { tasks: tasks.map(argsOf) }, signal)
}

function argsOf(task: TaskOptions): Record<string, unknown> {
  const { maxSteps, outputSchema, ...rest } = task
  const args = { ...rest, max_steps: maxSteps, output_schema: outputSchema }
  return Object.fromEntries(Object.entries(args).filter(([, value]) => value !== undefined))
}
