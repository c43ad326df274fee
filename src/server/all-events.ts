import { isTerminal } from '../loop/events.js'
import { isOpenRun } from '../run-queue/run-queue.js'
import type { RunEvent } from '../session/run-events.js'
import type { Session } from '../session/session.js'
import type { Principal } from './options.js'
import { ProblemError } from './problem.js'
import type { QueuedRuns } from './queued-runs.js'
import { decodeText, type RouteContext } from './route.js'
import { seesTenant } from './sees-tenant.js'
import type { ServerCore } from './server-core.js'
import { eventStreamResponse, type ServerSentEvent } from './sse.js'

/**
 * Streams the events of all sessions of the caller. The id of an event contains the position in each run that was
 * active at that time, so a reader resumes all of them exactly, also in another process.
 */
export async function watchAll({ core, principal, request, query }: RouteContext): Promise<Response> {
  const cursor = readCursor(request.headers.get('last-event-id') ?? query.get('from'))
  const release = core.usage.take(principal, 'streams')
  const closed = core.metrics.streamOpened()
  const all = new AllEvents(core, principal, cursor)
  const onClose = (): void => {
    all.stop()
    release()
    closed()
  }
  try {
    await all.start()
  } catch (error) {
    onClose()
    throw error
  }
  return eventStreamResponse(all.events(), {
    heartbeatMs: core.limits.heartbeatMs,
    signal: core.stopping.signal,
    onClose,
  })
}

/** When the reader disconnected, and the last sequence number that it received of each run. */
type Cursor = { readonly atMs: number; readonly runs: ReadonlyMap<string, number> }

class AllEvents {
  readonly #core: ServerCore
  readonly #principal: Principal
  readonly #cursor: Cursor | undefined
  readonly #leaving = new AbortController()
  /** The last sequence number of each run that is followed, by session and run. */
  readonly #places: Map<string, number>
  readonly #followed = new Set<string>()
  /** Runs of the queue that are complete for this reader. */
  readonly #ended = new Set<string>()
  #hasLooked = false
  /** Runs that could not be followed, or not to their end. */
  readonly #failures = new Map<string, Failure>()
  readonly #ready: Ready[] = []
  #wake: () => void = () => undefined
  #unlisten: () => void = () => undefined
  #timer: NodeJS.Timeout | undefined

  constructor(core: ServerCore, principal: Principal, cursor: Cursor | undefined) {
    this.#core = core
    this.#principal = principal
    this.#cursor = cursor
    this.#places = new Map(cursor?.runs)
  }

  async start(): Promise<void> {
    this.#unlisten = this.#core.onStart((session, runId) => {
      void this.#followIfAllowed(session, runId)
    })
    for (const key of this.#cursor?.runs.keys() ?? []) {
      const [sessionId = '', runId = ''] = key.split('/').map((part) => decodeText(part) ?? '')
      if (!(await this.#followIn(sessionId, runId))) this.#places.delete(key)
    }
    this.#lookLater()
    if (this.#core.queued !== undefined) return this.#followQueued(this.#core.queued)
    for (const session of this.#core.pool.open())
      for (const { id, status, createdAtMs } of await session.runs()) {
        const isNew = this.#cursor !== undefined && createdAtMs >= this.#cursor.atMs
        if (status === 'running' || status === 'queued' || isNew) void this.#followIfAllowed(session, id)
      }
  }

  /** Schedules checks for runs that could not be followed, and for those that other servers queued. */
  #lookLater(): void {
    const { queued } = this.#core
    let looking = Promise.resolve()
    const look = async (): Promise<void> => {
      await this.#followAgain()
      if (queued !== undefined && this.#hasLooked) await this.#followQueued(queued)
    }
    this.#timer = setInterval(() => {
      looking = looking.then(look).catch((error: unknown) => this.#core.report(error))
    }, lookEveryMs)
    this.#timer.unref()
  }

  /** Follows the runs of the caller in the queue. */
  async #followQueued(queued: QueuedRuns): Promise<void> {
    for (const run of await queued.newest(this.#principal)) {
      const { runId, sessionId, submittedAtMs } = run
      const key = keyOf(sessionId, runId)
      if (this.#ended.has(runId) || this.#followed.has(key) || this.#failures.has(key)) continue
      const isMissed = this.#cursor !== undefined && submittedAtMs >= this.#cursor.atMs
      if (!this.#hasLooked && !isOpenRun(run) && !isMissed) {
        this.#ended.add(runId)
        continue
      }
      if (!(await this.#followIn(sessionId, runId))) this.#ended.add(runId)
    }
    this.#hasLooked = true
  }

  /** Follows failed runs again, each from the last event that the reader received. */
  async #followAgain(): Promise<void> {
    for (const [key, failure] of this.#failures) {
      if (failure.skips > 0) {
        failure.skips--
        continue
      }
      const { sessionId, runId } = failure
      if (await this.#followIn(sessionId, runId)) continue
      this.#failures.delete(key)
      this.#places.delete(key)
      this.#ended.add(runId)
    }
  }

  /** Follows a run. Returns false when there is no such session. */
  async #followIn(sessionId: string, runId: string): Promise<boolean> {
    try {
      const session = await this.#core.pool.find(this.#principal, sessionId)
      void this.#followIfAllowed(session, runId)
      return true
    } catch (error) {
      if (error instanceof ProblemError && error.code === 'session_not_found') return false
      this.#fail(sessionId, runId, error)
      return true
    }
  }

  /**
   * Records a failure. The run is tried again at growing intervals and reported once, and does not delay the others.
   */
  #fail(sessionId: string, runId: string, error: unknown): void {
    const key = keyOf(sessionId, runId)
    this.#followed.delete(key)
    const times = (this.#failures.get(key)?.times ?? 0) + 1
    if (times === 1) this.#core.report(error)
    this.#failures.set(key, { sessionId, runId, times, skips: Math.min(2 ** (times - 1) - 1, maxSkips) })
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#unlisten()
    this.#leaving.abort()
    for (const { taken } of this.#ready.splice(0)) taken()
    this.#wake()
  }

  async *events(): AsyncGenerator<ServerSentEvent, void, undefined> {
    while (!this.#leaving.signal.aborted) {
      const next = this.#ready.shift()
      if (next === undefined) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
        continue
      }
      const { key, sessionId, runId, isLast, one, taken } = next
      if (isLast) this.#places.delete(key)
      else if (one.event.type !== 'events_missed') this.#places.set(key, one.sequence)
      const data = { sessionId, runId, sequence: one.sequence, event: one.event }
      yield { id: this.#id(), data: JSON.stringify(data) }
      taken()
    }
  }

  /**
   * Follows a run from the last event that the reader received. At most one event of each run is buffered, so a slow
   * reader costs no memory.
   */
  async #follow(session: Session, runId: string): Promise<void> {
    const { sessionId } = session
    const key = keyOf(sessionId, runId)
    if (this.#followed.has(key)) return
    this.#followed.add(key)
    const from = this.#places.get(key) ?? 0
    let last = from
    this.#places.set(key, from)
    const { signal } = this.#leaving
    const source = this.#core.follow(this.#principal, session, runId, { from, signal })
    try {
      for await (const one of source) {
        if (signal.aborted) return
        this.#failures.delete(key)
        const isLast = isTerminal(one.event)
        await new Promise<void>((taken) => {
          this.#ready.push({ key, sessionId, runId, isLast, one, taken })
          this.#wake()
        })
        if (one.event.type !== 'events_missed') last = one.sequence
      }
    } catch (error) {
      this.#places.set(key, last)
      throw error
    }
  }

  /** Follows a run of the caller's tenant that the caller is allowed to watch. */
  async #followIfAllowed(session: Session, runId: string): Promise<void> {
    if (!seesTenant(this.#principal, session.tenantId)) return
    try {
      if (await this.#core.allows(this.#principal, 'watchRun', session)) await this.#follow(session, runId)
      this.#failures.delete(keyOf(session.sessionId, runId))
    } catch (error) {
      if (!this.#leaving.signal.aborted) this.#fail(session.sessionId, runId, error)
    }
  }

  #id(): string {
    const runs = [...this.#places].map(([key, sequence]) => `${key}=${sequence}`)
    return [this.#core.now(), ...runs].join('&')
  }
}

function keyOf(...ids: readonly [sessionId: string, runId: string]): string {
  return ids.map(encodeURIComponent).join('/')
}

/** A run that could not be followed: the number of failures, and how many checks skip it. */
type Failure = {
  readonly sessionId: string
  readonly runId: string
  readonly times: number
  skips: number
}

type Ready = {
  readonly key: string
  readonly sessionId: string
  readonly runId: string
  readonly isLast: boolean
  readonly one: RunEvent
  taken(): void
}

function readCursor(given: string | null): Cursor | undefined {
  if (given === null || given === '') return undefined
  const [at = '', ...runs] = given.split('&')
  const places = runs.map((one) => /^([^=/]+\/[^=/]+)=(\d{1,15})$/.exec(one))
  if (!/^\d{1,15}$/.test(at) || places.some((one) => one === null) || places.length > maxRuns)
    throw new ProblemError('invalid_request', 'The id of the last event is not valid.')
  return {
    atMs: Number(at),
    runs: new Map(places.flatMap((one) => (one === null ? [] : [[one[1] ?? '', Number(one[2])]]))),
  }
}

const maxRuns = 1_000
const lookEveryMs = 1_000
/** The maximum number of skipped checks: such a run is then tried about once a minute. */
const maxSkips = 60
