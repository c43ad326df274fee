import type { RuntimeTasks, TaskOutcome, TaskRequest } from '../feature/task.js'
import type { AnyGovernedTool, ToolCallContext } from '../tool/contract.js'
import { builtInTool } from '../tool/create-json-tool.js'
import { type Envelope, type EnvelopeMetadata, errorEnvelope, outputEnvelope } from '../tool/envelope.js'
import { isRecord, type JsonObject, type JsonSchema, type JsonValue } from '../tool/json.js'
import { objectSchema } from '../tool/object-schema.js'
import { MissingServiceError, requireService } from '../toolbox/require-service.js'
import { maxTasksAtOnce } from './limits.js'
import { outcomesText, outcomeText, sharedFiles } from './task-text.js'

export type TaskArgs = {
  agent?: string
  subagent_type?: string
  description?: string
  prompt: string
  background?: boolean
  max_steps?: number
  output_schema?: JsonObject
  isolation?: string
}

type OneOfSeveral = Omit<TaskArgs, 'background'>
type Several = { tasks: OneOfSeveral[] }

const words = { type: 'string' } as const
const taskProperties = {
  agent: words,
  subagent_type: words,
  description: words,
  prompt: words,
  max_steps: { type: 'integer', minimum: 1 },
  output_schema: { type: 'object' },
  isolation: words,
} as const

/** Gives a task to another agent, or several with `tasks`. */
const taskTool = builtInTool<Partial<TaskArgs & Several>>({
  name: 'task',
  description:
    'Give an agent work; it sees only your prompt. agent: explore (reads), general (edits, runs), plan, verification, review. background: answers later. isolation: worktree (returns a patch).',
  unlisted: ['subagent_type', 'tasks'],
  kind: 'other',
  // A task has its own time limit.
  ownTime: true,
  parameters: {
    type: 'object',
    properties: { ...taskProperties, background: { type: 'boolean' }, tasks: { type: 'array' } },
    additionalProperties: false,
  },
  async execute({ tasks: several, ...args }, context) {
    if (several !== undefined) {
      const [other] = Object.keys(args)
      return other === undefined
        ? performSeveral(several, context)
        : errorEnvelope(
            `"tasks" and "${other}" cannot be combined. Set "${other}" in the entries of "tasks".`,
          )
    }
    const { prompt } = args
    const odd = oddIsolation(args.isolation)
    if (odd !== undefined) return errorEnvelope(odd)
    if (prompt === undefined)
      return errorEnvelope('"prompt" is missing. Give "prompt" for one task, or "tasks" for several.')
    const tasks = tasksOf(context)
    const request = requestOf({ ...args, prompt })
    if (args.background === true) {
      const { taskId, sessionId } = await tasks.start(request)
      return outputEnvelope(
        `Task started in background. Task ID: ${taskId}\nIts result comes to you as a message; continue with other work.`,
        { task_id: taskId, session_id: sessionId, background: true },
      )
    }
    const [outcome] = await tasks.run([request], signalOf(context))
    if (outcome === undefined) return errorEnvelope('The task gave no outcome.')
    const text = outcomeText(outcome)
    const metadata = metadataOf(outcome)
    return outcome.success ? outputEnvelope(text, metadata) : errorEnvelope(text, metadata)
  },
})

/** Gives several tasks to agents that work concurrently. */
const parallelTaskTool = builtInTool<Several>({
  name: 'parallel_task',
  description: 'Independent tasks at once; answers in their order. Fields as in task.',
  kind: 'other',
  ownTime: true,
  parameters: objectSchema({
    tasks: {
      type: 'array',
      minItems: 1,
      maxItems: maxTasksAtOnce,
      items: { type: 'object', required: ['prompt'] },
    },
  }),
  execute: ({ tasks }, context) => performSeveral(tasks, context),
})

async function performSeveral(tasks: readonly OneOfSeveral[], context: ToolCallContext): Promise<Envelope> {
  if (tasks.length < 1 || tasks.length > maxTasksAtOnce)
    return errorEnvelope(`"tasks" must have 1 to ${maxTasksAtOnce} entries, and has ${tasks.length}.`)
  const odd = tasks.map(oddIn).find((problem) => problem !== undefined)
  if (odd !== undefined) return errorEnvelope(odd)
  return together(await tasksOf(context).run(tasks.map(requestOf), signalOf(context)))
}

/** Checks what the short schema of an entry of `tasks` does not. */
function oddIn(task: unknown, at: number): string | undefined {
  if (!isRecord(task)) return `tasks[${at}] must be an object.`
  if (task['prompt'] === undefined) return `tasks[${at}].prompt is required.`
  const fields: Readonly<Record<string, { readonly type: string }>> = taskProperties
  for (const [name, value] of Object.entries(task)) {
    const expected = Object.hasOwn(fields, name) ? fields[name]?.type : undefined
    if (expected === undefined)
      return `tasks[${at}] has no field "${name}"; it takes ${Object.keys(fields).join(', ')}.`
    const fits =
      expected === 'integer'
        ? Number.isInteger(value) && Number(value) > 0
        : typeof value === expected && value !== null && !Array.isArray(value)
    if (!fits)
      return `tasks[${at}].${name} must be ${expected === 'integer' ? 'a whole number above 0' : `of the type ${expected}`}.`
  }
  const odd = oddIsolation(task['isolation'])
  return odd === undefined ? undefined : `tasks[${at}]: ${odd}`
}

/** Checks the value of `isolation`, which the short schema leaves open. */
function oddIsolation(given: unknown): string | undefined {
  return given === undefined || given === 'worktree' ? undefined : 'isolation must be "worktree".'
}

function requestOf({
  agent,
  subagent_type,
  description,
  prompt,
  max_steps,
  output_schema,
  isolation,
}: TaskArgs): TaskRequest {
  return {
    agent: agent ?? subagent_type ?? 'general',
    description: description ?? firstWords(prompt),
    prompt,
    maxSteps: max_steps,
    isolation: isolation === 'worktree' ? isolation : undefined,
    ...(output_schema !== undefined && { outputSchema: output_schema as JsonSchema }),
  }
}

function firstWords(prompt: string): string {
  const line = prompt.replace(/\s+/g, ' ').trim()
  return line.length <= 60 ? line : `${line.slice(0, 59)}…`
}

function together(outcomes: readonly TaskOutcome[]): Envelope {
  const succeeded = outcomes.filter(({ success }) => success).length
  const failed = outcomes.length - succeeded
  const shared = sharedFiles(outcomes).map(({ path, tasks }) => ({
    path,
    task_ids: tasks.flatMap((at) => outcomes[at]?.taskId ?? []),
  }))
  const metadata: Partial<EnvelopeMetadata> = {
    task_count: outcomes.length,
    success_count: succeeded,
    failed_count: failed,
    all_success: failed === 0,
    results: outcomes.map((outcome) => metadataOf(outcome)),
    ...(shared.length > 0 && { conflicts: shared }),
  }
  const head = `Executed ${outcomes.length} task(s) concurrently: ${succeeded} succeeded, ${failed} failed.`
  const text = `${head}\n\n${outcomesText(outcomes)}`
  return succeeded === 0 ? errorEnvelope(text, metadata) : outputEnvelope(text, metadata)
}

function metadataOf(outcome: TaskOutcome): JsonObject {
  const { taskId, sessionId, agent, success, counters, structured, changes } = outcome
  return {
    task_id: taskId,
    session_id: sessionId,
    agent,
    success,
    rounds: counters.rounds,
    tool_calls: counters.toolCalls,
    total_tokens: counters.totalTokens,
    // The value was parsed from JSON.
    ...(structured !== undefined && { structured: structured as JsonValue }),
    ...(changes !== undefined && {
      changes: {
        base: changes.base,
        files: changes.files.map((file) => ({ ...file })),
        conflicts: [...changes.conflicts],
        patch_path: changes.patchPath,
        ...(changes.hidden !== undefined && { hidden: [...changes.hidden] }),
        ...(changes.problem !== undefined && { problem: changes.problem }),
      },
    }),
  }
}

function tasksOf(context: ToolCallContext): RuntimeTasks {
  const { tasks } = requireService(context, 'session')
  if (tasks === undefined) throw new MissingServiceError('session.tasks')
  return tasks
}

function signalOf({ signal }: ToolCallContext): { readonly signal?: AbortSignal } {
  return signal === undefined ? {} : { signal }
}

/** Both tools, in the order in which a model sees them. */
export const taskTools: readonly AnyGovernedTool[] = [taskTool, parallelTaskTool]
