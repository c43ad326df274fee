import type { Session } from '../../session/session.js'
import { messageOf } from '../../tool/errors.js'
import { nearestNames, quoteNames } from '../../tool/nearest.js'
import { Deliveries } from './deliveries.js'
import { AgentDirError, ScheduleError } from './errors.js'
import type { AgentDirHandle, ServeState } from './handle.js'
import { digestOfDir, type ReadAgentDir } from './read-agent-dir.js'
import type { ScheduleClock } from './schedule-clock.js'
import type { Schedule } from './schedule-files.js'
import { ScheduleRunner, type ScheduleRunnerParts } from './schedule-runner.js'
import type { OpenedSession } from './schedule-session.js'
import type { FireReport, ScheduleStatus, ServeEvent, ServeListener } from './serve-events.js'
import type { ServingOptions } from './serve-options.js'

/** A reading of the directory, and how the session of a schedule is opened by it. */
export type Edition = {
  readonly read: ReadAgentDir
  open(schedule: Schedule, signal: AbortSignal): Promise<OpenedSession>
}

export type ServedDirParts = {
  readonly directory: string
  readonly options: ServingOptions
  readonly clock: ScheduleClock
  /** The real path of the workspace. */
  readonly workspace: string
  /** Reads the directory; throws when it is not in order. */
  edition(): Promise<Edition>
}

const defaultDrainMs = 30_000
const defaultReloadMs = 5_000
/** Nothing is due and nothing is looked for: it is there until it is stopped all the same. */
const idleMs = 3_600_000

/** The schedules of one directory, started and stopped together. */
export class ServedDir implements AgentDirHandle {
  readonly #parts: ServedDirParts
  #edition: Edition
  readonly #runners = new Map<string, ScheduleRunner>()
  /** Of schedules that are gone, until they have come to their end. */
  readonly #leaving = new Set<ScheduleRunner>()
  readonly #deliveries: Deliveries
  readonly #listeners = new Set<ServeListener>()
  readonly #stopping = new AbortController()
  #state: ServeState = 'starting'
  #watching: Promise<void> | undefined
  #reloading: Promise<unknown> = Promise.resolve()
  #ending: Promise<void> | undefined

  constructor(parts: ServedDirParts, edition: Edition) {
    this.#parts = parts
    this.#edition = edition
    this.#deliveries = new Deliveries({
      onResult: parts.options.onResult,
      clock: parts.clock,
      failed: ({ schedule }, error) =>
        this.#emit({ type: 'notice', schedule, message: `onResult failed: ${messageOf(error)}` }),
    })
    if (parts.options.onEvent !== undefined) this.#listeners.add(parts.options.onEvent)
  }

  /** Opens every session, then begins. When one cannot be opened none is. */
  async start(): Promise<void> {
    if (this.#ending !== undefined) return this.#ending
    const schedules = enabledIn(this.#edition)
    for (const schedule of schedules) this.#runners.set(nameOf(schedule), this.#runner(schedule))
    const opened = await Promise.allSettled([...this.#runners.values()].map((runner) => runner.open()))
    if (this.#ending !== undefined) return this.#ending
    const failed = opened.flatMap((one, at) =>
      one.status === 'rejected' ? [{ schedule: schedules[at], error: one.reason }] : [],
    )
    if (failed.length > 0) {
      await this.stop({ drainMs: 0 })
      const told = failed.map(({ schedule, error }) => `${schedule && nameOf(schedule)}: ${messageOf(error)}`)
      throw new ScheduleError(
        'schedule_start_failed',
        `No schedule was started, since not all can be:\n- ${told.join('\n- ')}`,
        { cause: failed[0]?.error },
      )
    }
    this.#state = 'serving'
    for (const runner of this.#runners.values()) runner.start()
    this.#watching = this.#watch()
    this.#emit({ type: 'serving', schedules: [...this.#runners.keys()] })
  }

  get state(): ServeState {
    return this.#state
  }

  isReady(): boolean {
    return this.#state === 'serving'
  }

  isStopped(): boolean {
    return this.#state === 'stopped'
  }

  schedules(): ScheduleStatus[] {
    return [...this.#runners.values()].map((runner) => runner.status())
  }

  session(schedule: string): Session | undefined {
    return this.#runners.get(schedule)?.session
  }

  on(listener: ServeListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  async runNow(schedule: string): Promise<FireReport> {
    if (this.#ending !== undefined)
      throw new ScheduleError('schedule_stopped', 'The agent directory is no longer served.')
    const runner = this.#runners.get(schedule)
    if (runner !== undefined) return runner.runNow()
    const near = nearestNames(schedule, this.#runners.keys())
    const hint = near.length > 0 ? ` Did you mean ${quoteNames(near)}?` : ''
    throw new ScheduleError(
      'schedule_unknown',
      `No schedule '${schedule}' is served: there is none, or it is not enabled.${hint}`,
    )
  }

  reload(): Promise<boolean> {
    return this.#afterReloads(undefined)
  }

  #afterReloads(told: string | undefined): Promise<boolean> {
    const reloaded = this.#reloading.then(() => this.#takeEdition(told))
    this.#reloading = reloaded.catch(() => undefined)
    return reloaded
  }

  stop({ drainMs = this.#drainMs }: { readonly drainMs?: number } = {}): Promise<void> {
    const idle = this.#idle(drainMs)
    // Told by what is returned.
    idle.catch(() => undefined)
    this.#ending ??= this.#end(idle)
    return this.#ending
  }

  get #drainMs(): number {
    return this.#parts.options.drainTimeoutMs ?? defaultDrainMs
  }

  /** Every time that it is asked for: who asks again may be less patient. */
  async #idle(drainMs: number): Promise<void> {
    this.#stopping.abort()
    const runners = [...this.#runners.values(), ...this.#leaving]
    const ended = await Promise.allSettled(runners.map((runner) => runner.stop(drainMs)))
    await this.#deliveries.taken(drainMs)
    const failed = ended.find((one) => one.status === 'rejected')
    if (failed !== undefined) throw failed.reason
  }

  async #end(idle: Promise<void>): Promise<void> {
    this.#state = 'stopping'
    try {
      await idle
    } finally {
      await this.#reloading
      await this.#watching
      this.#state = 'stopped'
      this.#emit({ type: 'stopped' })
    }
  }

  #runner(schedule: Schedule): ScheduleRunner {
    return new ScheduleRunner(this.#runnerParts(schedule, this.#edition))
  }

  #runnerParts(schedule: Schedule, edition: Edition): ScheduleRunnerParts {
    const { clock, workspace } = this.#parts
    return {
      schedule,
      sessionId: sessionIdOf(schedule),
      place: workspace,
      clock,
      open: (signal) => edition.open(schedule, signal),
      emit: (event) => this.#emit(event),
      ended: (report) => this.#deliveries.give(report),
    }
  }

  /** A listener that fails is nobody else's matter. */
  #emit(event: ServeEvent): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(event)
      } catch (error) {
        this.#listeners.delete(listener)
        this.#emit({
          type: 'notice',
          message: `A listener failed and is not called again: ${messageOf(error)}`,
        })
      }
    }
  }

  /** Looks whether the directory has changed. What is looked at twice and is the same is no file that is just being written. */
  async #watch(): Promise<void> {
    const { options, clock } = this.#parts
    const { reload = false } = options
    const { signal } = this.#stopping
    const pause =
      reload === false ? idleMs : ((reload === true ? undefined : reload.intervalMs) ?? defaultReloadMs)
    let before = this.#edition.read.digest
    /** Why it was refused the last time: tried again, since it may lie in the workspace, and told once. */
    let told: string | undefined
    while (!signal.aborted) {
      await clock.sleep(pause, signal)
      if (signal.aborted || reload === false) continue
      const now = digestOfDir(this.#parts.directory) ?? 'gone'
      const settled = now === before
      before = now
      if (!settled) continue
      if (now === this.#edition.read.digest) told = undefined
      else
        await this.#afterReloads(told).catch((error: unknown) => {
          told = messageOf(error)
        })
    }
  }

  async #takeEdition(told: string | undefined): Promise<boolean> {
    if (this.#state !== 'serving') return false
    let edition: Edition
    try {
      edition = await this.#parts.edition()
    } catch (error) {
      const problems = error instanceof AgentDirError ? error.problems : []
      const message = messageOf(error)
      if (message !== told) this.#emit({ type: 'reload_failed', message, problems })
      throw error
    }
    if (edition.read.digest === this.#edition.read.digest || this.#stopping.signal.aborted) return false
    const shared = edition.read.sharedDigest !== this.#edition.read.sharedDigest
    const before = new Map(enabledIn(this.#edition).map((schedule) => [nameOf(schedule), schedule]))
    const after = new Map(enabledIn(edition).map((schedule) => [nameOf(schedule), schedule]))
    this.#edition = edition
    const removed = [...before.keys()].filter((name) => !after.has(name))
    const added = [...after.keys()].filter((name) => !before.has(name))
    const changed = [...after.keys()].filter((name) => {
      const known = before.get(name)
      return known !== undefined && (shared || !isSame(known, after.get(name)))
    })
    await Promise.all(removed.map((name) => this.#remove(name)))
    for (const [name, schedule] of after) {
      if (this.#stopping.signal.aborted) return true
      const runner = this.#runners.get(name)
      // The time that a fire may take is an option of its session.
      const reopen = shared || before.get(name)?.definition.timeoutMs !== schedule.definition.timeoutMs
      if (runner !== undefined && changed.includes(name))
        runner.update(this.#runnerParts(schedule, edition), reopen)
      else if (runner === undefined) await this.#add(schedule)
    }
    this.#emit({ type: 'reloaded', added, changed, removed })
    return true
  }

  async #add(schedule: Schedule): Promise<void> {
    const runner = this.#runner(schedule)
    this.#runners.set(nameOf(schedule), runner)
    try {
      await runner.open()
    } catch (error) {
      const message = `The session could not be opened, and is tried again with the next fire: ${messageOf(error)}`
      this.#emit({ type: 'notice', schedule: nameOf(schedule), message })
    }
    runner.start()
  }

  async #remove(name: string): Promise<void> {
    const runner = this.#runners.get(name)
    if (runner === undefined) return
    this.#runners.delete(name)
    this.#leaving.add(runner)
    await runner.stop(this.#drainMs).finally(() => this.#leaving.delete(runner))
  }
}

export function sessionIdOf(schedule: Schedule): string {
  return `schedule:${nameOf(schedule)}`
}

function nameOf({ definition }: Schedule): string {
  return definition.name
}

function enabledIn({ read }: Edition): readonly Schedule[] {
  return read.schedules.filter(({ definition }) => definition.enabled)
}

function isSame(one: Schedule, other: Schedule | undefined): boolean {
  return JSON.stringify(one.definition) === JSON.stringify(other?.definition)
}
