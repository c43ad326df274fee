import type { TaskChanges, TaskOutcome } from '../feature/task.js'
import type { AgentEvent, RunSummary, SubagentEvent, TaskCounters } from '../loop/events.js'
import { noUsage, type Usage } from '../loop/usage.js'
import { CapstanError, messageOf } from '../tool/errors.js'
import type { JsonSchema } from '../tool/json.js'
import { compileJsonSchema } from '../tool/json-schema.js'
import { parseJsonText } from '../tool/json-text.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { listProblems } from '../tool/problem.js'
import type { TaskRecord, TaskStatus } from './task-record.js'

/** What a task needs from the session that performs it. */
export interface TaskSession {
  /** Performs one run and reports all its events; rejects if the run does. */
  ask(prompt: string, signal: AbortSignal, onEvent: (event: AgentEvent) => void): Promise<RunSummary>
  /** The usage so far, including that of its own subagents. */
  usage(): Usage
  /** Ends everything that is left. Returns the changes in its own worktree, if it had one. */
  close(): Promise<TaskChanges | undefined>
}

export type TaskWork = {
  readonly record: TaskRecord
  readonly prompt: string
  readonly outputSchema?: JsonSchema | undefined
  readonly signal: AbortSignal
  /** Creates the session; if it throws, the task fails with that error. */
  open(): Promise<TaskSession>
  emit(event: AgentEvent): void
  /** Writes the current state of the task to the log. If that fails, the task does not start, or fails. */
  keep(): Promise<void>
}

/** Performs one task. Never rejects: errors are in the outcome. */
export async function performTask(work: TaskWork): Promise<TaskOutcome> {
  const { record, signal } = work
  const watch = new Watch(work)
  let answer: Answer
  try {
    signal.throwIfAborted()
    record.start()
    await work.keep()
    answer = await answered(work, watch)
  } catch (error) {
    answer = { status: signal.aborted ? 'cancelled' : 'failed', error: wordsOf(error, signal) }
  }
  const outcome = outcomeOf(record, watch, answer)
  record.finish(answer.status, outcome, watch.usage)
  try {
    await work.keep()
  } catch (error) {
    work.emit({ type: 'persistence_failed', operation: 'task', error: messageOf(error) })
  }
  watch.end(outcome)
  return outcome
}

type Answer = {
  readonly status: Exclude<TaskStatus, 'queued' | 'running'>
  readonly error?: string
  readonly structured?: unknown
}

async function answered(work: TaskWork, watch: Watch): Promise<Answer> {
  const { signal, outputSchema, prompt } = work
  const session = await work.open()
  try {
    watch.start()
    const first = outputSchema === undefined ? prompt : askedForJson(prompt, outputSchema)
    const { text } = await session.ask(first, signal, watch.onEvent)
    watch.text = text
    if (outputSchema === undefined) return { status: 'completed' }
    const read = readStructured(text, outputSchema)
    if (read.ok) return { status: 'completed', structured: read.value }
    const again = await session.ask(repairPrompt(read.problem), signal, watch.onEvent)
    watch.text = again.text
    const repaired = readStructured(again.text, outputSchema)
    if (repaired.ok) return { status: 'completed', structured: repaired.value }
    return { status: 'failed', error: `the answer does not fit its schema: ${repaired.problem}` }
  } finally {
    watch.usage = session.usage()
    watch.changes = await session.close()
  }
}

function wordsOf(error: unknown, signal: AbortSignal): string {
  if (!signal.aborted) return messageOf(error)
  const { reason } = signal
  // The reason of the abort is more useful than what the aborted run throws.
  if (reason instanceof CapstanError || !(reason instanceof Error) || reason.name === 'AbortError')
    return 'aborted by parent'
  return reason.message
}

function outcomeOf(record: TaskRecord, watch: Watch, { status, error, structured }: Answer): TaskOutcome {
  const { taskId, childSessionId, agent, description } = record.snapshot()
  return {
    taskId,
    sessionId: childSessionId,
    agent,
    description,
    success: status === 'completed',
    output: watch.text,
    counters: watch.counters,
    ...omitUndefined({ error, structured, changes: watch.changes }),
  }
}

/** Observes a task: its progress, the last text of the agent, and its events. */
class Watch {
  readonly #work: TaskWork
  #rounds = 0
  #toolCalls = 0
  #totalTokens = 0
  /** The usage of the whole task, once it has ended. */
  usage: Usage = noUsage
  changes: TaskChanges | undefined
  /** The text of the current round. */
  #saying = ''
  text = ''

  constructor(work: TaskWork) {
    this.#work = work
  }

  get counters(): TaskCounters {
    const totalTokens = Math.max(this.#totalTokens, this.usage.totalTokens)
    return { rounds: this.#rounds, toolCalls: this.#toolCalls, totalTokens }
  }

  start(): void {
    const { taskId, childSessionId, parentSessionId, agent, description } = this.#work.record.snapshot()
    this.#work.emit({
      type: 'subagent_start',
      taskId,
      sessionId: childSessionId,
      parentSessionId,
      agent,
      description,
    })
  }

  readonly onEvent = (event: AgentEvent): void => {
    switch (event.type) {
      case 'turn_start':
      case 'answer_restarted':
        this.#saying = ''
        break
      case 'text_delta':
        this.#saying += event.text
        // An interrupted run may still have produced text.
        this.text = this.#saying
        break
      case 'tool_execution_start':
        this.#toolCalls++
        this.#progress(`calls ${event.toolName}`)
        break
      case 'turn_end':
        this.#rounds++
        this.#totalTokens += event.usage.totalTokens
        this.#progress(`round ${this.#rounds} done`)
        break
      case 'subagent_start':
      case 'subagent_progress':
      case 'subagent_end':
        this.#work.emit(event)
        break
      case 'model_retry':
      case 'model_rate_limit_wait':
      case 'model_fallback':
      case 'model_circuit_opened':
        this.#work.emit({ agent: this.#work.record.snapshot().agent, ...event })
        break
      case 'notice':
        this.#work.emit({ ...event, source: `${this.#work.record.snapshot().agent}: ${event.source}` })
        break
    }
  }

  end({ taskId, sessionId, agent, output, success, error }: TaskOutcome): void {
    const event: SubagentEvent = { type: 'subagent_end', taskId, sessionId, agent, output, success }
    this.#work.emit(error === undefined ? event : { ...event, error })
  }

  #progress(status: string): void {
    const { record, emit } = this.#work
    record.note(status, this.counters)
    const { taskId, childSessionId: sessionId } = record.snapshot()
    emit({ type: 'subagent_progress', taskId, sessionId, status, metadata: this.counters })
  }
}

/** Builds the prompt of a task whose answer must be JSON. */
function askedForJson(prompt: string, schema: JsonSchema): string {
  return `${prompt}\n\nYour final answer must be one JSON value and nothing else: no words around it, no code fence. It must fit this JSON Schema:\n${JSON.stringify(schema)}`
}

function repairPrompt(problem: string): string {
  return `Your final answer does not fit its JSON Schema: ${problem}\nAnswer again with the corrected JSON value and nothing else.`
}

type StructuredAnswer =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: string }

/** Parses the answer as data. Throws `TypeError` if the schema is invalid. */
function readStructured(text: string, schema: JsonSchema): StructuredAnswer {
  const compiled = compileJsonSchema(schema)
  let value: unknown
  try {
    value = parseJsonText(withoutFence(text))
  } catch (error) {
    return { ok: false, problem: messageOf(error) }
  }
  const checked = compiled.check(value)
  if (checked.ok) return checked
  return { ok: false, problem: `\n${listProblems(checked.problems, value, 'the answer')}` }
}

/** Models put a code fence around JSON even when the prompt forbids it. */
function withoutFence(text: string): string {
  return /^\s*```(?:json)?\s*\n([\s\S]*?)\n\s*```\s*$/.exec(text)?.[1] ?? text
}
