import type { LimitReached, ShellJob } from '../../tool/runtime.js'
import type { LimitWatch } from '../limits/hold-limits.js'
import { wholeCharacters } from './captured-output.js'
import { ShellJobError } from './errors.js'
import type { Exit, Running } from './launch.js'
import { isAlive, type ProcessEntry, type ProcessSnapshot } from './process-table.js'
import { endRun, findRemaining, type RunTrace } from './run-trace.js'
import { withTimeout } from './with-timeout.js'

export type JobOptions = {
  readonly now: () => number
  readonly graceMs: number
  readonly killMs: number
  /** How many ended jobs are stored. */
  readonly keepEnded?: number | undefined
  /** Reads the process table. Default: only the processes that can belong to the job. */
  readonly takeSnapshot?: (() => ProcessSnapshot) | undefined
}

const readBytes = 64 * 1024

/** Commands that run in the background, and processes that commands left running. `close` ends all of them. */
export class Jobs {
  readonly #options: JobOptions
  readonly #jobs = new Map<string, Job>()
  #count = 0

  constructor(options: JobOptions) {
    this.#options = options
  }

  /** Adds a running command as a job. `finish` is called once, when all its processes have ended. */
  add(
    command: string,
    running: Running,
    { finish, limits, left = [] }: Pick<Job, 'finish' | 'limits'> & Partial<Pick<Job, 'left'>>,
  ): ShellJob {
    running.unref()
    const id = `job-${++this.#count}`
    const job: Job = {
      id,
      command,
      running,
      finish,
      left,
      limits,
      limit: undefined,
      exit: undefined,
      startedAtMs: this.#options.now(),
      over: undefined,
    }
    this.#jobs.set(id, job)
    // The leader of a leftover has already exited, and its exit code was that of the run: the job has none.
    if (left.length > 0) job.exit = { exitCode: null }
    else void running.exit.then((exit) => this.#exited(job, exit))
    void running.ended.then(() => this.#settle(job))
    void limits.reached.then((limit) => this.#endAtLimit(job, limit))
    return describe(job)
  }

  list(): ShellJob[] {
    for (const job of this.#jobs.values()) this.#settle(job)
    return [...this.#jobs.values()].map(describe)
  }

  async read(id: string, from = 0): Promise<{ text: string; next: number; job: ShellJob }> {
    const job = this.#get(id)
    this.#settle(job)
    await job.over
    const { output } = job.running
    const { bytes, from: start } = await output.read(from, readBytes)
    // An incomplete character is left for the next read, unless no more output can follow.
    const complete = wholeCharacters(bytes)
    const atEnd = start + bytes.length >= output.bytes
    const taken = job.over !== undefined && atEnd ? bytes : complete.length > 0 ? complete : bytes
    const skipped = start > from ? `[… bytes ${from} to ${start} are no longer kept …]\n` : ''
    return { text: skipped + new TextDecoder().decode(taken), next: start + taken.length, job: describe(job) }
  }

  async kill(id: string): Promise<ShellJob> {
    const job = this.#get(id)
    await this.#end(job)
    return describe(job)
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#jobs.values(), (job) => this.#end(job)))
    await Promise.all(Array.from(this.#jobs.values(), (job) => job.running.output.close()))
    this.#jobs.clear()
  }

  #get(id: string): Job {
    const job = this.#jobs.get(id)
    if (job === undefined) throw new ShellJobError(id, [...this.#jobs.keys()])
    return job
  }

  async #end(job: Job): Promise<void> {
    if (job.over === undefined) {
      await endRun(traceOf(job), this.#options)
      // A process that the kernel has not released yet has no exit to wait for.
      job.exit ??= (await withTimeout(job.running.exit, 1000)) ?? { exitCode: null }
      this.#settle(job, true)
    }
    await job.over
  }

  async #endAtLimit(job: Job, limit: LimitReached): Promise<void> {
    if (job.over !== undefined) return
    job.limit = limit
    job.limits.kill()
    await endRun(traceOf(job), { ...this.#options, graceMs: 0 })
    this.#settle(job, true)
  }

  #exited(job: Job, exit: Exit): void {
    job.exit ??= exit
    job.limit ??= job.limits.after(exit)
    this.#settle(job)
  }

  /**
   * Checks whether the job has ended, and if so finishes it. Called when the job is read: a job needs no timer.
   * `isKilled`: its processes were killed until none was found.
   */
  #settle(job: Job, isKilled = false): void {
    if (job.over !== undefined || job.exit === undefined) return
    if (job.left.some(isAlive)) return
    const left = findRemaining(traceOf(job), this.#options.takeSnapshot) ?? (isKilled ? [] : undefined)
    // Uncertain: the job counts as running until it is read again.
    if (left === undefined) return
    job.left = left
    if (left.length > 0) return
    job.over = this.#finish(job, job.exit)
    // A caller that waits for the job gets the error; without one, the rejection must not end the host.
    job.over.catch(() => undefined)
  }

  async #finish(job: Job, exit: Exit): Promise<void> {
    // All writers have ended, so the remaining output is already in the pipe, followed by its end.
    await withTimeout(job.running.ended, 500)
    job.running.stopReading()
    await job.running.ended
    await job.finish(exit)
    await this.#forgetOldest()
  }

  async #forgetOldest(): Promise<void> {
    const ended = [...this.#jobs.values()].filter((job) => job.over !== undefined)
    for (const job of ended.slice(0, Math.max(0, ended.length - (this.#options.keepEnded ?? 64)))) {
      this.#jobs.delete(job.id)
      await job.running.output.close()
    }
  }
}

type Job = {
  readonly id: string
  readonly command: string
  readonly running: Running
  readonly finish: (exit: Exit) => Promise<void>
  readonly limits: LimitWatch
  readonly startedAtMs: number
  limit: LimitReached | undefined
  /** The processes that outlived their command. */
  left: readonly ProcessEntry[]
  exit: Exit | undefined
  over: Promise<void> | undefined
}

/** Processes that a command left running may only be recognisable because they were found at its end. */
function traceOf({ running, left }: Job): RunTrace {
  return { ...running.trace, known: left }
}

function describe(job: Job): ShellJob {
  return {
    id: job.id,
    command: job.command,
    running: job.over === undefined,
    exitCode: job.exit?.exitCode ?? null,
    startedAtMs: job.startedAtMs,
    ...(job.limit === undefined ? {} : { limit: job.limit }),
  }
}
