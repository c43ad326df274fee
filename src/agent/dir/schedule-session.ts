import type { ActiveRun } from '../../session/active-run.js'
import { readRequest } from '../../session/request.js'
import type { Session } from '../../session/session.js'
import { kernelOf } from '../../session/session-class.js'
import { startRun } from '../../session/start-run.js'
import { SessionLockedError, StoreError } from '../../store/errors.js'
import type { RunRow, RunTrigger } from '../../store/records.js'
import { FiredTimes } from './fired-times.js'
import type { ScheduleClock } from './schedule-clock.js'

/** A session that was opened, with the runs that its log knows. */
export type OpenedSession = { readonly session: Session; readonly runs: Iterable<RunRow> }

/** Opens it; when the signal is aborted it is closed, also while it is still being opened. */
export type OpenSession = (signal: AbortSignal) => Promise<OpenedSession>

export type Claim = { readonly session: Session; readonly outcome: 'claimed' | 'elsewhere' | 'stopped' }

/** How long another node may hold the session before a fire counts as its: longer than it takes until a dead one counts as gone. */
const patienceMs = 45_000
const firstPauseMs = 100
const maxPauseMs = 2_000
/** Others may go on with the session as often between our reading and our taking it; then something is wrong. */
const maxReopened = 5

/** The session of one schedule: opened again when it has to be, and had for writing before anything happens in it. */
export class ScheduleSession {
  readonly #open: OpenSession
  readonly #clock: ScheduleClock
  #opened: Promise<Session> | undefined
  #session: Session | undefined
  #closing = new AbortController()
  #fired = new FiredTimes()

  constructor(open: OpenSession, clock: ScheduleClock) {
    this.#open = open
    this.#clock = clock
  }

  /** The session that is open; undefined while there is none. */
  get current(): Session | undefined {
    return this.#session
  }

  get lastFired(): number | undefined {
    return this.#fired.latest
  }

  async open(): Promise<Session> {
    if (this.#session?.isClosed) await this.close()
    if (this.#opened !== undefined) return this.#opened
    this.#closing = new AbortController()
    const opened = this.#start(this.#closing.signal)
    this.#opened = opened
    opened.catch(() => {
      if (this.#opened === opened) this.#opened = undefined
    })
    return opened
  }

  async #start(signal: AbortSignal): Promise<Session> {
    const { session, runs } = await this.#open(signal)
    this.#session = session
    this.#fired = new FiredTimes(runs)
    return session
  }

  /**
   * Takes the session for writing and looks whether the fire was made already. While another node has it, waits: until it is let go of,
   * until `giveUpAt`, or for as long as that node may only seem to be alive. Holding it, nobody else can make the same fire.
   */
  async claim(firedAt: number, giveUpAt: number, signal: AbortSignal): Promise<Claim> {
    const until = Math.min(giveUpAt, this.#clock.now() + patienceMs)
    let pause = firstPauseMs
    for (let reopened = 0; ; ) {
      const session = await this.open()
      try {
        await kernelOf(session).recorder?.open()
        const made = this.#fired.has(firedAt, this.#clock.now())
        return { session, outcome: made ? 'elsewhere' : 'claimed' }
      } catch (error) {
        if (error instanceof SessionLockedError) {
          if (signal.aborted) return { session, outcome: 'stopped' }
          const left = until - this.#clock.now()
          if (left <= 0) return { session, outcome: 'elsewhere' }
          await this.#clock.sleep(Math.min(pause, left), signal)
          pause = Math.min(pause * 2, maxPauseMs)
        } else if (error instanceof StoreError && reopened < maxReopened) {
          // Somebody else has gone on with it, or we lost it: what it is now has to be read.
          reopened += 1
          await this.close()
        } else throw error
      }
    }
  }

  /** Takes the session for writing, or says who has it. */
  async take(): Promise<Session> {
    for (let reopened = 0; ; reopened++) {
      const session = await this.open()
      try {
        await kernelOf(session).recorder?.open()
        return session
      } catch (error) {
        if (!(error instanceof StoreError) || reopened >= maxReopened) throw error
        await this.close()
      }
    }
  }

  /** Begins the run of a fire. What a file says is talk for the model, never a command of the session. */
  begin(session: Session, prompt: string, trigger: RunTrigger): ActiveRun {
    if (trigger.source === 'schedule') this.#fired.add(trigger.fired_at)
    const request = readRequest(prompt)
    const times = `scheduled for: ${timeText(trigger.fired_at)}\nnow: ${timeText(this.#clock.now())}`
    const context = `<schedule>\nname: ${trigger.schedule_id}\n${times}\n</schedule>`
    const message = {
      ...request.message,
      content: [...request.message.content, { type: 'text' as const, text: context }],
    }
    return startRun(kernelOf(session), { ...request, message, trigger, verbatim: true })
  }

  async close(): Promise<void> {
    const opened = this.#opened
    this.#opened = undefined
    this.#session = undefined
    // A server that does not answer would keep it for half a minute.
    this.#closing.abort()
    const session = await opened?.catch(() => undefined)
    await session?.close()
  }
}

function timeText(ms: number): string {
  return new Date(ms).toISOString()
}
