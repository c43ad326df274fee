import { type NewTask, type SubagentTaskSnapshot, TaskRecord } from './task-record.js'

/** The tasks of a session. The oldest ended tasks are removed first; active and held ones never are. */
export class TaskBoard {
  readonly #maxEnded: number
  readonly #now: () => number
  readonly #isHeld: (taskId: string) => boolean
  readonly #tasks = new Map<string, TaskRecord>()

  constructor(maxEnded: number, now: () => number, isHeld: (taskId: string) => boolean = () => false) {
    this.#maxEnded = maxEnded
    this.#now = now
    this.#isHeld = isHeld
  }

  add(task: NewTask): TaskRecord {
    const record = new TaskRecord(task, this.#now)
    this.#tasks.set(record.id, record)
    return record
  }

  restore(snapshot: SubagentTaskSnapshot): void {
    this.#tasks.set(snapshot.taskId, TaskRecord.restored(snapshot, this.#now))
    this.forget()
  }

  get(id: string): TaskRecord | undefined {
    return this.#tasks.get(id)
  }

  list(): TaskRecord[] {
    return [...this.#tasks.values()]
  }

  pending(): TaskRecord[] {
    return this.list().filter((task) => task.pending)
  }

  /** Called when a task has ended. Removes the tasks that ended first. */
  forget(): void {
    if (this.#maxEnded === Number.POSITIVE_INFINITY) return
    const ended = this.list()
      .filter((task) => !task.pending && !this.#isHeld(task.id))
      .sort((a, b) => endOf(a) - endOf(b))
    for (const task of ended.slice(0, Math.max(0, ended.length - this.#maxEnded))) this.#tasks.delete(task.id)
  }
}

function endOf(task: TaskRecord): number {
  return task.snapshot().finishedAtMs ?? 0
}
