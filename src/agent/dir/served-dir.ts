import type { Session } from '../../session/session.js'
import type { SessionStore } from '../../store/session-store.js'
import { messageOf, tryOr } from '../../tool/errors.js'
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
import { seenByAll, Webhook } from './triggers/webhook.js'

/** The contents of the directory at one time, and a function that opens the session of a schedule. */
export type Edition = {
  readonly read: ReadAgentDir
  /** The store of its sessions. */
  readonly store: SessionStore | undefined
  open(schedule: Schedule, signal: AbortSignal, now: () => number): Promise<OpenedSession>
  /** The value of an environment variable. */
  secretOf(name: string): string | undefined
}

export type ServedDirParts = {
  readonly directory: string
  readonly options: ServingOptions
  readonly clock: ScheduleClock
  /** The real path of the workspace. */
  readonly workspace: string
  /** Reads the directory; throws if it has problems. */
  edition(): Promise<Edition>
}

const defaultDrainMs = 30_000
const defaultReloadMs = 5_000
/** The interval of a timer that keeps the process alive until serving is stopped, even if nothing is due. */
const idleMs = 3_600_000

/** The schedules of one directory, started and stopped together. */
export class ServedDir implements AgentDirHandle {
  readonly #parts: ServedDirParts
  #edition: Edition
  readonly #runners = new Map<string, ScheduleRunner>()
  readonly #hooks = new Map<string, { readonly secret: string; readonly hook: Webhook }>()
  /** The runners of removed schedules, until they have ended. */
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
    this.#deliveries = new Deliveries(parts.options.onResult, parts.clock, ({ schedule }, error) =>
      this.#emit({ type: 'notice', schedule, message: `onResult failed: ${messageOf(error)}` }),
    )
    if (parts.options.onEvent !== undefined) this.#listeners.add(parts.options.onEvent)
  }

  /** Opens every session, then starts. If one session cannot be opened, all are closed. */
  async start(): Promise<void> {
    if (this.#ending !== undefined) return this.#ending
    const schedules = enabledIn(this.#edition)
    for (const schedule of schedules) this.#hook(schedule, this.#edition)
    for (const schedule of schedules) this.#runners.set(nameOf(schedule), this.#runner(schedule))
    const opened = await Promise.allSettled([...this.#runners.values()].map((runner) => runner.open()))
    if (this.#ending !== undefined) return this.#ending
    const failed = opened.flatMap((one, at) =>
      one.status === 'rejected' ? [{ schedule: schedules[at], error: one.reason }] : [],
    )
    if (failed.length > 0) {
      await this.stop({ drainMs: 0 })
      const failures = failed.map(
        ({ schedule, error }) => `${schedule && nameOf(schedule)}: ${messageOf(error)}`,
      )
      throw new ScheduleError(
        'schedule_start_failed',
        `No schedule was started, because some cannot be started:\n- ${failures.join('\n- ')}`,
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
      `No schedule '${schedule}' is served: it does not exist or is disabled.${hint}`,
    )
  }

  async webhook(request: Request): Promise<Response> {
    const name = nameIn(new URL(request.url))
    const runner = this.#runners.get(name)
    const hook = this.#hooks.get(name)?.hook
    if (this.#state !== 'serving') return answer(503, 'stopped')
    if (runner === undefined || hook === undefined) return answer(404, 'unknown')
    const outcome = await hook.accept(request)
    if (outcome.status !== 202) return answer(outcome.status, refusals[outcome.status])
    // With a mailbox, any node can make the fire, after the one that is running.
    if (this.#edition.store?.mailbox !== undefined) {
      runner.look()
      return answer(202, 'accepted')
    }
    return runner.trigger('webhook', outcome.data) ? answer(202, 'accepted') : answer(409, 'busy')
  }

  /**
   * Creates the webhook of a schedule. If its secret is unchanged, the existing one with its seen requests is used
   * further.
   */
  #hook(schedule: Schedule, { secretOf, store }: Edition): void {
    const { name, webhookSecret } = schedule.definition
    if (webhookSecret === undefined) {
      this.#hooks.delete(name)
      return
    }
    const secret = secretOf(webhookSecret) ?? ''
    if (secret.length < minSecretLength)
      throw new ScheduleError(
        'schedule_start_failed',
        `The webhook of '${name}' needs a secret of at least ${minSecretLength} characters in the environment variable ${webhookSecret}.`,
      )
    if (this.#hooks.get(name)?.secret !== secret)
      this.#hooks.set(name, {
        secret,
        hook: new Webhook(
          name,
          secret,
          () => this.#parts.clock.now(),
          store?.mailbox && seenByAll(store.mailbox, sessionIdOf(schedule)),
        ),
      })
  }

  reload(): Promise<boolean> {
    return this.#afterReloads(undefined)
  }

  #afterReloads(lastError: string | undefined): Promise<boolean> {
    const reloaded = this.#reloading.then(() => this.#takeEdition(lastError))
    this.#reloading = reloaded.catch(() => undefined)
    return reloaded
  }

  stop({ drainMs = this.#drainMs }: { readonly drainMs?: number } = {}): Promise<void> {
    const idle = this.#idle(drainMs)
    // The returned promise reports the error.
    idle.catch(() => undefined)
    this.#ending ??= this.#end(idle)
    return this.#ending
  }

  get #drainMs(): number {
    return this.#parts.options.drainTimeoutMs ?? defaultDrainMs
  }

  /** Stops the runners and waits for them. Runs for every call, because a second call can shorten the time limit. */
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
      store: edition.store,
      clock,
      open: (signal) => edition.open(schedule, signal, () => clock.now()),
      emit: (event) => this.#emit(event),
      ended: (report) => this.#deliveries.give(report),
    }
  }

  /** Calls the listeners. A listener that throws is removed and does not affect the others. */
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

  /**
   * Checks whether the directory has changed. A change is applied when two checks see the same content, so no
   * half-written file is read.
   */
  async #watch(): Promise<void> {
    const { options, clock } = this.#parts
    const { reload = false } = options
    const { signal } = this.#stopping
    const pause =
      reload === false ? idleMs : ((reload === true ? undefined : reload.intervalMs) ?? defaultReloadMs)
    let before = this.#edition.read.digest
    /**
     * The last error. Reading is tried again even if no file changed, because the cause can be in the workspace. Each
     * error is reported once.
     */
    let lastError: string | undefined
    while (!signal.aborted) {
      await clock.sleep(pause, signal)
      if (signal.aborted || reload === false) continue
      const now = digestOfDir(this.#parts.directory) ?? 'gone'
      const settled = now === before
      before = now
      if (!settled) continue
      if (now === this.#edition.read.digest) lastError = undefined
      else
        await this.#afterReloads(lastError).catch((error: unknown) => {
          lastError = messageOf(error)
        })
    }
  }

  async #takeEdition(lastError: string | undefined): Promise<boolean> {
    if (this.#state !== 'serving') return false
    let edition: Edition
    try {
      edition = await this.#parts.edition()
    } catch (error) {
      const problems = error instanceof AgentDirError ? error.problems : []
      const message = messageOf(error)
      if (message !== lastError) this.#emit({ type: 'reload_failed', message, problems })
      throw error
    }
    for (const schedule of enabledIn(edition)) this.#hook(schedule, edition)
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
      // The time limit of a fire is an option of its session.
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
      const message = `The session could not be opened. The next fire tries again: ${messageOf(error)}`
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

const minSecretLength = 16

const refusals = {
  400: 'not_text',
  401: 'not_signed',
  405: 'not_post',
  409: 'replayed',
  413: 'too_large',
  429: 'too_many',
} as const

/** The name of the schedule at the end of the path; empty if it is not encoded correctly. */
function nameIn({ pathname }: URL): string {
  return tryOr(() => decodeURIComponent(/[^/]*$/.exec(pathname)?.[0] ?? ''), '')
}

function answer(status: number, code: string): Response {
  return Response.json({ code }, { status, headers: { 'cache-control': 'no-store' } })
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
