import type { WorkerAgentSpec } from '../../subagents/files/worker-spec.js'
import type { ParallelOutcome, PipelineStage, StepOutcome, StepSpec } from '../../subagents/orchestrate.js'
import type { SubagentTaskSnapshot } from '../../subagents/task-record.js'
import type { JsonSchema } from '../../tool/json.js'
import type { ToolResult } from '../../tool/tool-result.js'
import { callTool } from '../direct-tools.js'
import { agentsPart } from '../parts/agents.js'
import { type AgentInfo, addAgentDirectory, addWorkerAgent, listAgents } from '../parts/known-agents.js'
import { parallel, parallelResumable, pipeline } from '../parts/orchestration.js'
import { knownTasks } from '../parts/tasks.js'
import { ObjectSurface } from './objects.js'
import { coreOf } from './session-surface.js'

/** A piece of work for another agent, in the words of this language. */
export type TaskOptions = {
  /** `general` unless said otherwise. */
  readonly agent?: string
  readonly description?: string
  readonly prompt: string
  /** Returns at once; what comes of it is told to the model with its next round, or with the next prompt. */
  readonly background?: boolean
  readonly maxSteps?: number
  /** The answer must be JSON that fits; it is in `metadata.structured`. */
  readonly outputSchema?: JsonSchema
}

/** Work handed to other agents. */
export abstract class TaskSurface extends ObjectSurface {
  /** The agents that tasks may be given to, and how each is made. */
  agents(): AgentInfo[] {
    return listAgents(coreOf(this))
  }

  /**
   * Reads the agents of a directory: YAML files, and Markdown with fields at its head. Gives how many there were; what is wrong with
   * others is told in notices and by `agentProblems()`.
   */
  registerAgentDir(path: string): number {
    return addAgentDirectory(coreOf(this), path)
  }

  /** Adds an agent, or puts another in the place of one with its name. */
  registerWorkerAgent(spec: WorkerAgentSpec): AgentInfo {
    return addWorkerAgent(coreOf(this), spec)
  }

  registerWorkerAgents(specs: readonly WorkerAgentSpec[]): AgentInfo[] {
    return specs.map((spec) => this.registerWorkerAgent(spec))
  }

  /** What was wrong with files that should be agents: a sentence each. */
  agentProblems(): readonly string[] {
    return coreOf(this).part(agentsPart).problems
  }

  /** Hands one piece of work to an agent, or several with `{ tasks: [...] }`: the same as its tool `task`. */
  async task(
    task: TaskOptions | { readonly tasks: readonly Omit<TaskOptions, 'background'>[] },
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<ToolResult> {
    const several = 'tasks' in task && Array.isArray(task.tasks)
    const args = several ? { ...task, tasks: task.tasks.map(argsOf) } : argsOf(task as TaskOptions)
    return callTool(coreOf(this), 'task', args, options.signal)
  }

  /** Several that are worked on at the same time: the same as its tool `parallel_task`. */
  async tasks(
    tasks: readonly Omit<TaskOptions, 'background'>[],
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<ToolResult> {
    return callTool(coreOf(this), 'parallel_task', { tasks: tasks.map(argsOf) }, options.signal)
  }

  /** Every task that is still known, also those of an earlier process. */
  async subagentTasks(): Promise<SubagentTaskSnapshot[]> {
    return knownTasks(coreOf(this))?.list() ?? []
  }

  /** Those that wait or are at work. */
  async pendingSubagentTasks(): Promise<SubagentTaskSnapshot[]> {
    return knownTasks(coreOf(this))?.pending() ?? []
  }

  async subagentTask(taskId: string): Promise<SubagentTaskSnapshot | null> {
    return knownTasks(coreOf(this))?.get(taskId) ?? null
  }

  /** Ends a task; nothing of it is left when this resolves. False when no such task waits or is at work. */
  async cancelSubagentTask(taskId: string): Promise<boolean> {
    return knownTasks(coreOf(this))?.cancel(taskId) ?? false
  }

  /** Steps at the same time, their outcomes in the order of the steps; one that failed says so in its outcome. */
  async parallel(specs: readonly StepSpec[]): Promise<StepOutcome[]>
  /** The same with so many tokens for all of them: once they are used up, what has not been asked yet is not asked. */
  async parallel(specs: readonly StepSpec[], budgetTokens: number): Promise<ParallelOutcome>
  async parallel(
    specs: readonly StepSpec[],
    budgetTokens?: number,
  ): Promise<StepOutcome[] | ParallelOutcome> {
    return parallel(coreOf(this), specs, budgetTokens)
  }

  /** The same, remembered by its id: begun again after a crash, only the steps that did not succeed are done. Needs a store. */
  async parallelResumable(specs: readonly StepSpec[], workflowId: string): Promise<StepOutcome[]> {
    return parallelResumable(coreOf(this), specs, workflowId)
  }

  /**
   * Each item through all stages, items independent of each other. A stage makes the next step of what came before, or null to end there.
   * Gives the last outcome of each item; null where a stage failed or made no first step.
   */
  async pipeline<Item>(
    items: readonly Item[],
    stages: readonly PipelineStage<Item>[],
    timeoutMs?: number,
  ): Promise<(StepOutcome | null)[]> {
    return pipeline(coreOf(this), items, stages, timeoutMs)
  }
}

function argsOf(task: TaskOptions): Record<string, unknown> {
  const { maxSteps, outputSchema, ...rest } = task
  const args = { ...rest, max_steps: maxSteps, output_schema: outputSchema }
  return Object.fromEntries(Object.entries(args).filter(([, value]) => value !== undefined))
}
