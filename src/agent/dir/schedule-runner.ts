import { hostname } from 'node:os'
import { RunError } from '../../loop/errors.js'
import { SessionClosedError } from '../../session/errors.js'
import type { Session } from '../../session/session.js'
import { StoreError } from '../../store/errors.js'
import type { RunTrigger } from '../../store/records.js'
import type { SessionStore } from '../../store/session-store.js'
import { messageOf } from '../../tool/errors.js'
import { fnv1a } from '../../tool/fnv1a.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import { dueTimes, soundCursor } from './due-times.js'
import { ScheduleError } from './errors.js'
import type { ScheduleClock } from './schedule-clock.js'
import type { Schedule } from './schedule-files.js'
import { type OpenSession, ScheduleSession } from './schedule-session.js'
import type { FireReport, ScheduleStatus, ServeEvent, SkipReason } from './serve-events.js'
import { FileWatch } from './triggers/file-watch.js'

export type ScheduleRunnerParts = {
  readonly schedule: Schedule
  readonly sessionId: string
  /** Identifies this directory, for the random delay of fires. */
  readonly place: string
  /** The store of the session. If it has a mailbox, other nodes can serve the same schedule. */
  readonly store?: SessionStore | undefined
  readonly clock: ScheduleClock
  readonly open: OpenSession
  emit(event: ServeEvent): void
  /** Called with the result of every fire. */
  ended(report: FireReport): void
}

/** The maximum time between checks. The clock can be changed and the machine can sleep, which timers do not notice. */
const maxSleepMs = 30_000

type Fire = {
  readonly firedAtMs: number
  readonly manual: boolean
  /** The trigger, unless it is the cron pattern. */
  readonly source?: TriggerSource
  /** The data of the trigger, which the model reads as data. */
  readonly data?: string
  /** The id of the message with the data, when any node can make the fire. */
  readonly delivery?: string
  done?(report: FireReport): void
}

export type TriggerSource = NonNullable<FireReport['source']>

/** How often files are checked. A change fires the schedule when two checks in a row find the same state. */
const lookMs = 2_000
/** A wake-up that is later than this counts as missed. */
const graceMs = 60_000
const maxDataFiles = 100

/** Fires one schedule when it is due, one fire after the other, in one session. */
export class ScheduleRunner {
  #parts: ScheduleRunnerParts
  #session: ScheduleSession
  /** Aborted when no further fire can start. */
  readonly #stopping = new AbortController()
  /**
   * Wakes the loop when its times have changed or it must end. A single controller, because combining signals leaks
   * memory with each sleep.
   */
  #changed = new AbortController()
  #loop: Promise<void> | undefined
  readonly #waiting: Fire[] = []
  #work: Promise<void> | undefined
  #working = false
  #atWork = false
  #cursor = 0
  #last: FireReport | undefined
  #reopen = false
  #files: FileWatch | undefined
  /** The last error of reading the store. Each error is reported once. */
  #lookError: string | undefined

  constructor(parts: ScheduleRunnerParts) {
    this.#parts = parts
    this.#files = watchOf(parts)
    this.#session = new ScheduleSession(parts.open, parts.clock)
  }

  /** Opens the session, so that errors are known before a fire is due. */
  async open(): Promise<void> {
    this.#tellWarnings(await this.#session.open())
    const { catchUp } = this.#parts.schedule.definition
    await this.#startWatch(catchUp === 'none' ? undefined : this.#session.workedUntil)
  }

  /** Starts watching files. Files that exist now count as known. */
  async #startWatch(sinceMs?: number): Promise<void> {
    try {
      await this.#files?.start(sinceMs)
    } catch (error) {
      this.#files = undefined
      this.#notice(`Files are not watched: ${messageOf(error)}`)
    }
  }

  /** Starts to fire. */
  start(): void {
    const { clock, schedule } = this.#parts
    const now = clock.now()
    const last = this.#session.lastFired
    const { catchUp } = schedule.definition
    this.#cursor = catchUp === 'none' || last === undefined ? now : soundCursor(last, now)
    this.#loop = this.#keepTime()
  }

  get session(): Session | undefined {
    return this.#session.current
  }

  status(): ScheduleStatus {
    const { schedule, sessionId, clock } = this.#parts
    const { name, cron, timeZone, watch, webhookSecret, wakeUps } = schedule.definition
    const triggers = [
      ...(webhookSecret === undefined ? [] : ['webhook' as const]),
      ...(watch === undefined ? [] : ['file' as const]),
      ...(wakeUps === undefined ? [] : ['wake_up' as const]),
    ]
    const next = this.#stopping.signal.aborted ? undefined : schedule.times.next(this.#from(clock.now()))
    return {
      ...{ name, sessionId, timeZone, triggers, running: this.#atWork },
      ...omitUndefined({
        cron,
        nextFireAtMs: earliest(next, this.#session.wakeUps?.next()),
        last: this.#last,
      }),
    }
  }

  /** Fires at once, or after the running fire. */
  runNow(): Promise<FireReport> {
    if (this.#stopping.signal.aborted) return Promise.reject(this.#stopped())
    return new Promise((done) => {
      this.#waiting.push({ firedAtMs: this.#parts.clock.now(), manual: true, done })
      this.#begin()
    })
  }

  /** Checks now whether something is due. */
  look(): void {
    const changed = this.#changed
    this.#changed = new AbortController()
    changed.abort()
  }

  #isAtWork(): boolean {
    return this.#atWork || this.#waiting.length > 0
  }

  /** Fires because of a trigger, subject to the overlap policy. Returns false when the fire was skipped. */
  trigger(source: TriggerSource, data: string): boolean {
    const fire = { firedAtMs: this.#parts.clock.now(), manual: false, source, data }
    if (this.#stopping.signal.aborted) {
      this.#skip(fire, 'stopped')
      return false
    }
    return this.#due(fire, false)
  }

  /** Replaces the schedule. With `reopen`, the session is opened again before the next fire. */
  update(parts: ScheduleRunnerParts, reopen: boolean): void {
    this.#parts = parts
    this.#files = watchOf(parts, this.#files)
    this.#reopen ||= reopen
    this.#begin()
    this.look()
  }

  /**
   * Starts no further fire, waits for the running one, and cancels it after the time limit. A later call can shorten
   * the limit.
   */
  async stop(drainMs: number): Promise<void> {
    this.#stopping.abort()
    this.#changed.abort()
    const drained = new AbortController()
    const idle = Promise.all([this.#loop, this.#work]).then(() => drained.abort())
    if (drainMs > 0) await Promise.race([idle, this.#parts.clock.sleep(drainMs, drained.signal)])
    try {
      await this.#session.close()
    } finally {
      await idle
      // A fire that was starting can have opened the session again.
      await this.#session.close()
    }
  }

  async #keepTime(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      const { schedule, clock } = this.#parts
      const now = clock.now()
      const { catchUp } = schedule.definition
      // Read before the checks: a change that arrives during them ends the sleep at the end of this iteration.
      const { signal: changed } = this.#changed
      await this.#lookAtStore()
      this.#wake(now)
      await this.#lookAtFiles()
      const due = dueTimes({ times: schedule.times, cursor: this.#cursor, now, catchUp })
      this.#cursor = due.cursor
      if (due.missed !== undefined) this.#skip({ firedAtMs: due.missed, manual: false }, 'missed')
      for (const firedAtMs of due.fires) this.#due({ firedAtMs, manual: false }, due.fires.length > 1)
      const next = earliest(schedule.times.next(this.#from(now)), this.#session.wakeUps?.next())
      const until = (next ?? Number.POSITIVE_INFINITY) - clock.now()
      const most = this.#files === undefined && !this.#hasOthers() ? maxSleepMs : lookMs
      await clock.sleep(Math.max(1, Math.min(until, most)), changed)
    }
  }

  /** Whether other nodes can leave work for this one in the store. */
  #hasOthers(): boolean {
    const { store, schedule } = this.#parts
    const { webhookSecret, wakeUps } = schedule.definition
    return store?.mailbox !== undefined && (webhookSecret !== undefined || wakeUps !== undefined)
  }

  /** Reads webhook requests that any node has accepted, and wake-ups that the model has requested on another node. */
  async #lookAtStore(): Promise<void> {
    const { store, sessionId, clock } = this.#parts
    if (store === undefined || !this.#hasOthers() || this.#isAtWork()) return
    try {
      await this.#session.readWakeUps(store, sessionId)
      // One at a time, so that an idle node can process the others.
      const [mail] = (await store.mailbox?.waiting(sessionId)) ?? []
      if (mail === undefined || this.#isAtWork()) return
      const { id: delivery, body: data } = mail
      this.#waiting.push({ firedAtMs: clock.now(), manual: false, source: 'webhook', data, delivery })
      this.#begin()
    } catch (error) {
      const message = messageOf(error)
      if (message !== this.#lookError) this.#notice(`The store could not be read: ${message}`)
      this.#lookError = message
    }
  }

  /** Queues wake-ups that are due. They wait for the running fire and are not skipped because of it. */
  #wake(now: number): void {
    for (const { atMs, note } of this.#session.wakeUps?.takeDue(now) ?? []) {
      const fire: Fire = { firedAtMs: atMs, manual: false, source: 'wake_up', data: note }
      if (now - atMs > graceMs && this.#parts.schedule.definition.catchUp === 'none')
        this.#skip(fire, 'missed')
      else this.#due(fire, true)
    }
  }

  /** Checks watched files. Not while a fire runs, so that the fire's own changes do not trigger the schedule again. */
  async #lookAtFiles(): Promise<void> {
    const files = this.#files
    if (files === undefined || this.#isAtWork()) return
    try {
      const changed = await files.look()
      if (changed === undefined) return
      const more = changed.length > maxDataFiles ? `\nand ${changed.length - maxDataFiles} more` : ''
      this.trigger('file', `${changed.slice(0, maxDataFiles).join('\n')}${more}`)
    } catch (error) {
      this.#files = undefined
      this.#notice(`Files are not watched any longer: ${messageOf(error)}`)
    }
  }

  #notice(message: string): void {
    const { emit, schedule } = this.#parts
    emit({ type: 'notice', schedule: schedule.definition.name, message })
  }

  #from(now: number): number {
    return Math.max(now, soundCursor(this.#cursor, now))
  }

  #due(fire: Fire, isMadeUp: boolean): boolean {
    const { overlap } = this.#parts.schedule.definition
    const busy = this.#isAtWork()
    const isSkipped = busy && !isMadeUp && (overlap === 'skip' || this.#waiting.length > 0)
    if (isSkipped) this.#skip(fire, 'overlap')
    else this.#waiting.push(fire)
    this.#begin()
    return !isSkipped
  }

  /** Runs fires one after the other, in order of arrival. */
  #begin(): void {
    if (this.#working) return
    this.#working = true
    this.#work = this.#makeAll()
  }

  async #makeAll(): Promise<void> {
    for (;;) {
      if (this.#reopen) await this.#openAgain()
      const fire = this.#waiting.shift()
      if (fire === undefined) {
        this.#working = false
        return
      }
      if (this.#stopping.signal.aborted) {
        this.#skip(fire, 'stopped')
        continue
      }
      this.#atWork = true
      try {
        await this.#make(fire)
      } finally {
        if (this.#files !== undefined) await this.#startWatch()
        this.#atWork = false
      }
    }
  }

  async #openAgain(): Promise<void> {
    this.#reopen = false
    const { emit, schedule, open, clock } = this.#parts
    const before = this.#session
    this.#session = new ScheduleSession(open, clock)
    try {
      await before.close()
      if (!this.#stopping.signal.aborted) this.#tellWarnings(await this.#session.open())
    } catch (error) {
      // The next fire tries again and reports the failure.
      const { name } = schedule.definition
      emit({
        type: 'notice',
        schedule: name,
        message: `The session could not be opened again: ${messageOf(error)}`,
      })
    }
  }

  #tellWarnings({ initWarning }: Session): void {
    const { emit, schedule } = this.#parts
    if (initWarning !== null)
      emit({ type: 'notice', schedule: schedule.definition.name, message: initWarning })
  }

  async #make(fire: Fire): Promise<void> {
    const { clock, schedule, emit } = this.#parts
    const { definition, times } = schedule
    const { signal } = this.#stopping
    const { firedAtMs, manual, source: trigger, data, delivery } = fire
    if (!manual && trigger === undefined && definition.jitterMs > 0)
      await clock.sleep(this.#jitter(firedAtMs), signal)
    const startedAtMs = clock.now()
    const held = this.#session
    let runId: string | undefined
    try {
      if (signal.aborted) return this.#skip(fire, 'stopped')
      let session: Session
      const source = trigger ?? (manual ? 'api' : 'schedule')
      const made: RunTrigger = {
        ...{ source, fired_at: firedAtMs, schedule_id: definition.name },
        ...omitUndefined({ delivery }),
      }
      if (manual || trigger === 'file' || (trigger === 'webhook' && delivery === undefined))
        session = await held.take()
      else {
        const until = delivery === undefined ? (times.next(clock.now()) ?? Number.POSITIVE_INFINITY) : 0
        const claim = await held.claim(made, until, signal)
        if (delivery !== undefined && claim.outcome === 'made') await this.#taken(delivery)
        // The node that holds the session makes the fire of this message.
        if (delivery !== undefined && claim.outcome !== 'claimed') return
        if (claim.outcome !== 'claimed')
          return this.#skip(fire, claim.outcome === 'made' ? 'elsewhere' : claim.outcome)
        session = claim.session
      }
      // Stopped while the session was claimed: nothing has happened, and another node can make this fire.
      if (signal.aborted) return this.#skip(fire, 'stopped')
      const { name, prompt } = definition
      const run = held.begin(session, prompt, made, data)
      runId = run.id
      emit({ type: 'schedule_fired', schedule: name, firedAtMs, runId })
      // The error is reported where the result is awaited.
      run.result.catch(() => undefined)
      for await (const event of run.stream) emit({ type: 'schedule_event', schedule: name, event })
      const result = await run.result
      if (delivery !== undefined) await this.#taken(delivery)
      this.#end(fire, { status: 'completed', runId, result }, startedAtMs)
    } catch (error) {
      // A session that lost its lease accepts no more prompts; the next fire reads the log again.
      // The fire is reported with the first error of the store, not with a later one.
      if (error instanceof StoreError) await held.close().catch(() => undefined)
      const status = wasCancelled(error) ? 'cancelled' : 'failed'
      this.#end(fire, { status, error, ...omitUndefined({ runId }) }, startedAtMs)
    }
  }

  /** Marks a message as taken, once the log of the session contains its fire. */
  async #taken(delivery: string): Promise<void> {
    const { store, sessionId } = this.#parts
    await store?.mailbox?.take(sessionId, delivery)
  }

  #skip(fire: Fire, reason: SkipReason): void {
    this.#end(fire, { status: 'skipped', reason }, this.#parts.clock.now())
  }

  #end(
    fire: Fire,
    outcome:
      | Pick<FireReport & { status: 'completed' }, 'status' | 'runId' | 'result'>
      | { status: 'failed' | 'cancelled'; error: unknown; runId?: string }
      | { status: 'skipped'; reason: SkipReason },
    startedAtMs: number,
  ): void {
    const { schedule, sessionId, clock, ended, emit } = this.#parts
    const { firedAtMs, manual, done, source } = fire
    const { name } = schedule.definition
    const when = { firedAtMs, manual, startedAtMs, endedAtMs: clock.now() }
    const report: FireReport = {
      schedule: name,
      sessionId,
      ...when,
      ...omitUndefined({ source }),
      ...outcome,
    }
    this.#last = report
    emit({ type: 'schedule_ended', report })
    ended(report)
    done?.(report)
  }

  /** The delay of a fire: always the same for one fire, and different on each machine. */
  #jitter(firedAtMs: number): number {
    const { schedule, place } = this.#parts
    const { name, jitterMs } = schedule.definition
    return fnv1a(`${hostname()}\0${place}\0${name}\0${firedAtMs}`) % (jitterMs + 1)
  }

  #stopped(): ScheduleError {
    const { name } = this.#parts.schedule.definition
    return new ScheduleError('schedule_stopped', `The schedule '${name}' is no longer served.`)
  }
}

function watchOf({ schedule, place }: ScheduleRunnerParts, earlier?: FileWatch): FileWatch | undefined {
  const { watch } = schedule.definition
  return watch && new FileWatch(place, watch, earlier)
}

function earliest(...times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}

function wasCancelled(error: unknown): boolean {
  return error instanceof SessionClosedError || (error instanceof RunError && error.code === 'cancelled')
}
