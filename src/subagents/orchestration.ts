import { createHash } from 'node:crypto'
import { SessionOptionError } from '../feature/option-error.js'
import { subagentsFeature } from './feature.js'
import { Slots } from './limits.js'
import type { SubagentSession } from './options.js'
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
  withConflicts,
} from './orchestrate.js'
import type { RunTasksOptions } from './tasks.js'

/** Runs steps concurrently. */
export async function parallel(
  session: SubagentSession,
  specs: readonly StepSpec[],
  limitTokens: number | undefined,
): Promise<StepOutcome[] | ParallelOutcome> {
  session.assertOpen()
  assertSteps(specs)
  const run = stepRunner(session)
  if (limitTokens === undefined) return withConflicts(await Promise.all(specs.map((spec) => run(spec))))
  if (!Number.isInteger(limitTokens) || limitTokens < 1)
    throw new TypeError(`budgetTokens must be a whole number above 0, not ${limitTokens}.`)
  const budget = { limitTokens, consumedTokens: 0 }
  const outcomes = await Promise.all(specs.map((spec) => run(spec, { budget })))
  return { outcomes: withConflicts(outcomes), budget }
}

/** Runs steps concurrently, and remembers the successful ones under the workflow's id until all have succeeded. */
export async function parallelResumable(
  session: SubagentSession,
  specs: readonly StepSpec[],
  workflowId: string,
): Promise<StepOutcome[]> {
  session.assertOpen()
  assertSteps(specs)
  if (session.log.recorder === undefined)
    throw new SessionOptionError('sessionStore', 'parallelResumable requires a sessionStore on the session.')
  if (typeof workflowId !== 'string' || workflowId === '')
    throw new TypeError('workflowId must be a string that is not empty.')
  const tasks = session.use(subagentsFeature).tasks
  const run = stepRunner(session)
  const done = new Map(tasks.stepsDone(workflowId).map(({ step, outcome }) => [stepKey(step), outcome]))
  const outcomes = await Promise.all(
    specs.map((spec) => {
      const workflow = { id: workflowId, step: spec.taskId, digest: digestOf(spec) }
      const known = done.get(stepKey(workflow))
      return known === undefined ? run(spec, { workflow }) : stepOutcome(spec, known)
    }),
  )
  if (outcomes.every(({ success }) => success)) await tasks.endWorkflow(workflowId)
  return withConflicts(outcomes)
}

export async function pipeline<Item>(
  session: SubagentSession,
  items: readonly Item[],
  stages: readonly PipelineStage<Item>[],
  timeoutMs = defaultTimeoutMs,
): Promise<(StepOutcome | null)[]> {
  session.assertOpen()
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > maxTimerMs)
    throw new TypeError(
      `timeoutMs must be a whole number of milliseconds from 1 to ${maxTimerMs}, not ${timeoutMs}.`,
    )
  return runPipeline(items, stages, timeoutMs, stepRunner(session))
}

const defaultTimeoutMs = 30_000
/** The maximum delay of a timer; with a longer one, Node fires it at once. */
const maxTimerMs = 2 ** 31 - 1

/**
 * Runs at most as many steps at a time as tasks are allowed: further tasks would be refused, while steps can wait
 * here.
 */
function stepRunner(
  session: SubagentSession,
): (spec: StepSpec, options?: RunTasksOptions) => Promise<StepOutcome> {
  const tasks = session.use(subagentsFeature).tasks
  const slots = new Slots(tasks.maxAtOnce)
  return async (spec, options = {}) => {
    try {
      const [outcome] = await slots.run(session.signal, () => tasks.run([requestFor(spec)], options))
      return outcome === undefined
        ? failedStep(spec, new Error('it gave no outcome'))
        : stepOutcome(spec, outcome)
    } catch (error) {
      return failedStep(spec, error)
    }
  }
}

/** A step whose definition has changed counts as another step. */
function digestOf({ taskId, agent, prompt, maxSteps, outputSchema, isolation }: StepSpec): string {
  const facts = JSON.stringify([
    ...[taskId, agent, prompt, maxSteps ?? null, outputSchema ?? null],
    // Omitted if undefined, so that digests of steps without isolation do not change.
    ...(isolation === undefined ? [] : [isolation]),
  ])
  return createHash('sha256').update(facts).digest('hex')
}

function stepKey({ step, digest }: { readonly step: string; readonly digest: string }): string {
  return `${digest} ${step}`
}
