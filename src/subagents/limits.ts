import { CapstanError, markErrorClass } from '../tool/errors.js'

const defaultMaxDepth = 5
/** The maximum number of unfinished tasks of one family, over all levels. */
const defaultMaxTasks = 64
/** The maximum number of tasks in one call. */
export const maxTasksAtOnce = 32
export const defaultTaskTimeoutMs = 600_000
export const defaultParallelTasks = 8

/** Thrown when a limit prevents a task from starting. */
export class TaskLimitError extends CapstanError {
  constructor(message: string) {
    super('task_limit', message)
  }
}

markErrorClass(TaskLimitError, 'TaskLimitError')

/** The task limits of a root session and all subagents below it. */
export class TaskFamily {
  readonly maxDepth: number
  readonly maxTasks: number
  #open = 0

  constructor(limits: { readonly maxDepth?: number; readonly maxTasks?: number } = {}) {
    this.maxDepth = limits.maxDepth ?? defaultMaxDepth
    this.maxTasks = limits.maxTasks ?? defaultMaxTasks
  }

  /** Reserves this many tasks for a session at this depth, or throws; each must be released. */
  take(count: number, depth: number): void {
    if (depth >= this.maxDepth)
      throw new TaskLimitError(
        `The task was not started: it would be ${depth + 1} levels deep, and ${this.maxDepth} are allowed. Do the work here.`,
      )
    if (this.#open + count > this.maxTasks)
      throw new TaskLimitError(
        `The ${count === 1 ? 'task was' : `${count} tasks were`} not started: ${this.#open} are unfinished, and at most ${this.maxTasks} may be. Wait for some to end, or do the work here.`,
      )
    this.#open += count
  }

  release(): void {
    this.#open -= 1
  }

  get open(): number {
    return this.#open
  }
}

/** Limits how many functions run at a time; the others wait in order. */
export class Slots {
  readonly #most: number
  #used = 0
  readonly #waiting: (() => void)[] = []

  constructor(most: number) {
    this.#most = most
  }

  /**
   * Runs the work when a slot is free. If the signal is aborted before that, the work is not started, and the promise
   * rejects with the reason.
   */
  async run<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    signal.throwIfAborted()
    if (this.#used >= this.#most) await this.#turn(signal)
    else this.#used += 1
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#used -= 1
      else next()
    }
  }

  #turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        signal.removeEventListener('abort', leave)
        resolve()
      }
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(begin), 1)
        reject(signal.reason)
      }
      this.#waiting.push(begin)
      signal.addEventListener('abort', leave, { once: true })
    })
  }
}
