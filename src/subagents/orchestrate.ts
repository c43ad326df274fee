import type { TaskChanges, TaskOutcome, TaskRequest } from '../feature/task.js'
import { messageOf } from '../tool/errors.js'
import type { JsonSchema } from '../tool/json.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { sharedFiles } from './task-text.js'

/** One step of a workflow of a host. */
export type StepSpec = {
  /** The host's own name of the step. Its outcome has it, and a resumed workflow recognises the step by it. */
  readonly taskId: string
  readonly agent: string
  readonly description?: string
  readonly prompt: string
  readonly maxSteps?: number
  /** The JSON Schema of the answer; a step whose answer does not match has failed. */
  readonly outputSchema?: JsonSchema
  /** `worktree`: the agent works in its own checkout of the last commit, and the outcome has its changes. */
  readonly isolation?: 'worktree'
}

/** The outcome of a step. */
export type StepOutcome = {
  readonly taskId: string
  readonly sessionId: string
  readonly agent: string
  readonly output: string
  readonly success: boolean
  readonly error?: string
  /** The answer as data, if there was a schema. */
  readonly structured?: unknown
  /** The changes in the worktree of the step; absent for a step that works in the workspace. */
  readonly changes?: TaskChanges
  /** Files that other steps, which ran at the same time, also changed in their worktrees. */
  readonly conflicts?: readonly StepConflict[]
}

/**
 * A file that several steps changed in their worktrees, with the `taskId` of each. Only one of their patches is sure to
 * apply.
 */
export type StepConflict = { readonly path: string; readonly taskIds: readonly string[] }

/** The outcomes of steps that share a budget of tokens. */
export type ParallelOutcome = {
  readonly outcomes: StepOutcome[]
  readonly budget: { readonly consumedTokens: number; readonly limitTokens: number }
}

/** Creates the next step of an item from the outcome before it; null ends the item there. */
export type PipelineStage<Item> = (context: {
  readonly previous: StepOutcome | null
  readonly item: Item
}) => StepSpec | null

/** Runs a step; never rejects for a failed one. `begun` is called when the step gets its slot. */
export type StepRunner = (
  spec: StepSpec,
  options: { readonly signal: AbortSignal; begun(): void },
) => Promise<StepOutcome>

/** Throws `TypeError` for an invalid step. */
export function assertSteps(specs: readonly StepSpec[]): void {
  const seen = new Set<string>()
  for (const [at, spec] of specs.entries()) {
    const problem = problemOf(spec)
    if (problem !== undefined) throw new TypeError(`Step ${at}: ${problem}`)
    if (seen.has(spec.taskId))
      throw new TypeError(`Step ${at}: another step has the taskId '${spec.taskId}'.`)
    seen.add(spec.taskId)
  }
}

function problemOf(spec: unknown): string | undefined {
  if (typeof spec !== 'object' || spec === null || spec instanceof Promise) return 'it must be an object.'
  const given: Partial<StepSpec> = spec
  for (const name of ['taskId', 'agent', 'prompt'] as const)
    if (typeof given[name] !== 'string' || given[name] === '')
      return `${name} must be a string that is not empty.`
  if (given.isolation !== undefined && given.isolation !== 'worktree') return 'isolation must be "worktree".'
  return undefined
}

export function requestFor(spec: StepSpec): TaskRequest {
  const { taskId, agent, description = taskId, prompt, maxSteps, outputSchema, isolation } = spec
  return {
    agent,
    description,
    prompt,
    ...omitUndefined({ maxSteps, outputSchema, isolation }),
  }
}

export function stepOutcome(spec: StepSpec, outcome: TaskOutcome): StepOutcome {
  const { sessionId, agent, output, success, error, structured, changes } = outcome
  return {
    taskId: spec.taskId,
    sessionId,
    agent,
    output,
    success,
    ...omitUndefined({ error, structured, changes }),
  }
}

/** Adds to each outcome the files that other steps changed too. */
export function withConflicts(outcomes: readonly StepOutcome[]): StepOutcome[] {
  const shared = sharedFiles(outcomes).map(({ path, tasks }) => ({
    path,
    taskIds: tasks.flatMap((at) => outcomes[at]?.taskId ?? []),
  }))
  return outcomes.map((outcome) => {
    const conflicts = shared.filter(({ taskIds }) => taskIds.includes(outcome.taskId))
    return conflicts.length === 0 ? outcome : { ...outcome, conflicts }
  })
}

/** The outcome of a step that was not started. */
export function failedStep({ taskId, agent }: StepSpec, error: unknown): StepOutcome {
  return { taskId, sessionId: '', agent, output: '', success: false, error: messageOf(error) }
}

/**
 * Runs each item through all stages; items do not wait for each other. A stage that fails or exceeds its time limit
 * ends its item with null.
 */
export function runPipeline<Item>(
  items: readonly Item[],
  stages: readonly PipelineStage<Item>[],
  timeoutMs: number,
  run: StepRunner,
): Promise<(StepOutcome | null)[]> {
  return Promise.all(
    items.map(async (item) => {
      let previous: StepOutcome | null = null
      for (const stage of stages) {
        const spec = specFrom(stage, { previous, item })
        if (spec === 'failed') return null
        if (spec === null) break
        const outcome = await inTime(spec, timeoutMs, run)
        if (outcome === undefined) return null
        previous = outcome
        // Later stages must not build on a failed outcome.
        if (!outcome.success) break
      }
      return previous
    }),
  )
}

function specFrom<Item>(
  stage: PipelineStage<Item>,
  context: { readonly previous: StepOutcome | null; readonly item: Item },
): StepSpec | null | 'failed' {
  try {
    const spec = stage(context)
    if (spec === null) return null
    return problemOf(spec) === undefined ? spec : 'failed'
  } catch {
    // A stage that throws ends only its own item, with null.
    return 'failed'
  }
}

/** Runs a step with a time limit that starts when the step does, not while it waits for others. */
async function inTime(spec: StepSpec, timeoutMs: number, run: StepRunner): Promise<StepOutcome | undefined> {
  const late = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  const begun = (): void => {
    timer = setTimeout(() => late.abort(new Error(`the step took longer than ${timeoutMs} ms`)), timeoutMs)
  }
  try {
    const outcome = await run(spec, { signal: late.signal, begun })
    return late.signal.aborted ? undefined : outcome
  } finally {
    clearTimeout(timer)
  }
}
