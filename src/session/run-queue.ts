import type { ActiveRun } from './active-run.js'
import { SessionBusyError } from './errors.js'

/** The queued and active runs of a session: one at a time, in the order of arrival. */
export class RunQueue {
  /** The active run. */
  active: ActiveRun | undefined
  readonly #sessionId: string
  /** A list, because an empty one takes less memory than a map, and it is short. */
  #open: readonly ActiveRun[] = []
  /** Settles when all runs so far have ended, and never rejects. */
  #settled: Promise<unknown> = Promise.resolve()
  #exclusive = false

  constructor(sessionId: string) {
    this.#sessionId = sessionId
  }

  /** Whether a run is active or queued, or the session itself is being changed. */
  get isBusy(): boolean {
    return this.#open.length > 0 || this.#exclusive
  }

  /** Whether a run that has not ended is open. A run that has reported its end may still be cleaning up. */
  get hasUnended(): boolean {
    return this.#exclusive || this.#open.some((run) => !run.ended)
  }

  /** Settles when all runs so far have ended, and never rejects. */
  get settled(): Promise<unknown> {
    return this.#settled
  }

  has(runId: string): boolean {
    return this.#find(runId) !== undefined
  }

  /** Adds a run. Returns a promise that it must await before it starts; undefined when no run is before it. */
  add(run: ActiveRun): Promise<unknown> | undefined {
    const others = this.isBusy ? this.#settled : undefined
    this.#open = [...this.#open, run]
    return others
  }

  /** Removes a run as soon as its result has settled. Call it once the run has started. */
  removeAtEnd(run: ActiveRun): void {
    run.result = run.result.finally(() => {
      this.#open = this.#open.filter((one) => one !== run)
    })
    // A run that was cancelled while it was queued ends before the runs ahead of it. Results are not stored here: each
    // would reference all earlier ones.
    this.#after(run.result)
  }

  /** Changes the session itself: never while a run is active, and runs that arrive during the change wait for it. */
  async alone<T>(doing: string, work: () => Promise<T>): Promise<T> {
    if (this.hasUnended) throw new SessionBusyError(this.#sessionId, doing)
    this.#exclusive = true
    // A caller that has just received the end of a run waits for the run's last steps.
    const ended = this.#settled.then(work).finally(() => {
      this.#exclusive = false
    })
    this.#after(ended)
    return ended
  }

  /** Returns false when no such run is queued or active. */
  cancel(runId: string, reason: string): boolean {
    return this.#find(runId)?.cancel(reason) ?? false
  }

  cancelAll(reason: string): void {
    for (const run of this.#open) run.cancel(reason)
  }

  #find(runId: string): ActiveRun | undefined {
    return this.#open.find(({ id }) => id === runId)
  }

  #after(work: Promise<unknown>): void {
    this.#settled = Promise.allSettled([this.#settled, work]).then(() => undefined)
  }
}
