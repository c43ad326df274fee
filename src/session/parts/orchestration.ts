import { createHash } from 'node:crypto'
import { Slots } from '../../subagents/limits.js'
import {
  assertSteps,
  failedStep,
  type ParallelOutcome,
  type PipelineStage,
  requestFor,
  runPipeline,
  type StepOutcome,
  type StepSpec,
  stepOutcome,
} from '../../subagents/orchestrate.js'
import type { SessionCore } from '../core.js'
import { SessionOptionError } from '../errors.js'
import { type RunTasksOptions, tasksPart } from './tasks.js'

/** Steps at the same time. */
export async function parallel(
  core: SessionCore,
  specs: readonly StepSpec[],
  limitTokens: number | undefined,
): Promise<StepOutcome[] | ParallelOutcome> {
  core.assertOpen()
  assertSteps(specs)
  const run = stepRunner(core)
  if (limitTokens === undefined) return Promise.all(specs.map((spec) => run(spec)))
  if (!Number.isInteger(limitTokens) || limitTokens < 1)
    throw new TypeError(`budgetTokens must be a whole number above 0, not ${limitTokens}.`)
  const budget = { limitTokens, consumedTokens: 0 }
  const outcomes = await Promise.all(specs.map((spec) => run(spec, { budget })))
  return { outcomes, budget }
}

/** The same, remembered by its id until all of it has succeeded. */
export async function parallelResumable(
  core: SessionCore,
  specs: readonly StepSpec[],
  workflowId: string,
): Promise<StepOutcome[]> {
  core.assertOpen()
  assertSteps(specs)
  if (core.keeper === undefined)
    throw new SessionOptionError('sessionStore', 'parallelResumable requires a sessionStore on the session.')
  if (typeof workflowId !== 'string' || workflowId === '')
    throw new TypeError('workflowId must be a string that says something.')
  const tasks = core.part(tasksPart)
  const run = stepRunner(core)
  const done = new Map(tasks.stepsDone(workflowId).map(({ step, outcome }) => [stepKey(step), outcome]))
  const outcomes = await Promise.all(
    specs.map((spec) => {
      const workflow = { id: workflowId, step: spec.taskId, digest: digestOf(spec) }
      const known = done.get(stepKey(workflow))
      return known === undefined ? run(spec, { workflow }) : stepOutcome(spec, known)
    }),
  )
  if (outcomes.every(({ success }) => success)) await tasks.endWorkflow(workflowId)
  return outcomes
}

export async function pipeline<Item>(
  core: SessionCore,
  items: readonly Item[],
  stages: readonly PipelineStage<Item>[],
  timeoutMs = defaultTimeoutMs,
): Promise<(StepOutcome | null)[]> {
  core.assertOpen()
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > maxTimerMs)
    throw new TypeError(
      `timeoutMs must be a whole number of milliseconds from 1 to ${maxTimerMs}, not ${timeoutMs}.`,
    )
  return runPipeline(items, stages, timeoutMs, stepRunner(core))
}

const defaultTimeoutMs = 30_000
/** A timer that is told to wait longer does not wait at all. */
const maxTimerMs = 2 ** 31 - 1

/** As many steps at a time as there may be tasks: more would be refused, and here they can wait. */
function stepRunner(core: SessionCore): (spec: StepSpec, options?: RunTasksOptions) => Promise<StepOutcome> {
  const tasks = core.part(tasksPart)
  const slots = new Slots(tasks.maxAtOnce)
  return async (spec, options = {}) => {
    try {
      const [outcome] = await slots.run(core.closing.signal, () => tasks.run([requestFor(spec)], options))
      return outcome === undefined
        ? failedStep(spec, new Error('it gave no outcome'))
        : stepOutcome(spec, outcome)
    } catch (error) {
      return failedStep(spec, error)
    }
  }
}

/** A step that says something else by now is another step. */
function digestOf({ taskId, agent, prompt, maxSteps, outputSchema }: StepSpec): string {
  const facts = JSON.stringify([taskId, agent, prompt, maxSteps ?? null, outputSchema ?? null])
  return createHash('sha256').update(facts).digest('hex')
}

function stepKey({ step, digest }: { readonly step: string; readonly digest: string }): string {
  return `${digest} ${step}`
}
