import type { TaskOutcome } from '../feature/task.js'
import type { TaskCounters } from '../loop/events.js'
import type { Usage } from '../loop/usage.js'
import { omitUndefined } from '../tool/omit-undefined.js'

/** The status of a task. `interrupted`: its process ended before it did. */
export type TaskStatus = 'queued' | 'running' | 'completed' | 'failed' | 'cancelled' | 'interrupted'

/** One step of a task. */
export type TaskProgress = {
  readonly atMs: number
  readonly status: string
  readonly counters: TaskCounters
}

/** The state of a task at one moment. */
export type SubagentTaskSnapshot = {
  readonly taskId: string
  readonly parentSessionId: string
  readonly childSessionId: string
  readonly agent: string
  readonly description: string
  readonly status: TaskStatus
  /** The caller does not wait for the task: its result is reported to the model later. */
  readonly background: boolean
  readonly startedAtMs: number
  readonly updatedAtMs: number
  readonly finishedAtMs?: number
  readonly output?: string
  readonly success?: boolean
  readonly error?: string
  readonly structured?: unknown
  readonly counters: TaskCounters
  /** The usage of the task and its subagents, once it has ended. */
  readonly usage?: Usage
  /** The last steps, at most 20. */
  readonly progress: readonly TaskProgress[]
}

export type NewTask = Pick<
  SubagentTaskSnapshot,
  'taskId' | 'parentSessionId' | 'childSessionId' | 'agent' | 'description' | 'background'
>

const noCounters: TaskCounters = { rounds: 0, toolCalls: 0, totalTokens: 0 }
/** Enough to see the current work. */
const maxProgress = 20

/** One task, from the moment it was requested. */
export class TaskRecord {
  readonly #controller = new AbortController()
  readonly #now: () => number
  #snapshot: SubagentTaskSnapshot
  /** Settles when nothing of the task is left; never rejects. */
  ended: Promise<TaskOutcome | undefined> = Promise.resolve(undefined)

  constructor(task: NewTask, now: () => number) {
    this.#now = now
    const startedAtMs = now()
    this.#snapshot = {
      ...task,
      status: 'queued',
      startedAtMs,
      updatedAtMs: startedAtMs,
      counters: noCounters,
      progress: [],
    }
  }

  /** Restores a task of an earlier process. If it was active then, it ended with that process. */
  static restored(snapshot: SubagentTaskSnapshot, now: () => number): TaskRecord {
    const record = new TaskRecord(snapshot, now)
    record.#snapshot = isPending(snapshot) ? interrupted(snapshot, now()) : snapshot
    return record
  }

  get id(): string {
    return this.#snapshot.taskId
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  get pending(): boolean {
    return isPending(this.#snapshot)
  }

  snapshot(): SubagentTaskSnapshot {
    return this.#snapshot
  }

  start(): void {
    this.#change({ status: 'running' })
  }

  note(status: string, counters: TaskCounters): void {
    const atMs = this.#now()
    const progress = [...this.#snapshot.progress, { atMs, status, counters }].slice(-maxProgress)
    this.#change({ counters, progress })
  }

  /** Ends the task. An ended task does not change any more. */
  finish(status: Exclude<TaskStatus, 'queued' | 'running'>, outcome: TaskOutcome, usage: Usage): void {
    if (!this.pending) return
    const { output, success, error, structured, counters } = outcome
    this.#change({
      status,
      finishedAtMs: this.#now(),
      output,
      success,
      counters,
      usage,
      ...omitUndefined({ error, structured }),
    })
  }

  /** Cancels the task; false if it had ended already. */
  cancel(why: string): boolean {
    if (!this.pending || this.signal.aborted) return false
    this.#controller.abort(new Error(why))
    return true
  }

  #change(fields: Partial<SubagentTaskSnapshot>): void {
    this.#snapshot = { ...this.#snapshot, updatedAtMs: this.#now(), ...fields }
  }
}

function isPending({ status }: SubagentTaskSnapshot): boolean {
  return status === 'queued' || status === 'running'
}

function interrupted(snapshot: SubagentTaskSnapshot, now: number): SubagentTaskSnapshot {
  return {
    ...snapshot,
    status: 'interrupted',
    success: false,
    error: 'interrupted, outcome unknown: the process ended while the task ran',
    updatedAtMs: now,
    finishedAtMs: now,
  }
}
