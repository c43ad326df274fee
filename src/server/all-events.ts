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
 * The events of all sessions of the caller on one stream. The id of an event has the place in each run that was active
 * then, so a reader resumes all of them exactly, in another process too.
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

/** When the reader left, and the last number that it has of each run. */
type Cursor = { readonly atMs: number; readonly runs: ReadonlyMap<string, number> }

class AllEvents {
  readonly #core: ServerCore
  readonly #principal: Principal
  readonly #cursor: Cursor | undefined
  readonly #leaving = new AbortController()
  /** The last number of each run that is followed, by session and run. */
  readonly #places: Map<string, number>
  readonly #followed = new Set<string>()
  /** Runs whose session could not be opened: how often, and how many looks leave them out. */
  readonly #failures = new Map<string, { readonly times: number; skips: number }>()
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
      void this.#followIfAllowed(session, runId, 0)
    })
    for (const [key, from] of this.#cursor?.runs ?? []) {
      const [sessionId = '', runId = ''] = key.split('/').map((part) => decodeText(part) ?? '')
      if (!(await this.#followIn(sessionId, runId, from))) this.#places.delete(key)
    }
    if (this.#core.queued !== undefined) return this.#followQueued(this.#core.queued)
    for (const session of this.#core.pool.open())
      for (const { id, status, createdAtMs } of await session.runs()) {
        const isNew = this.#cursor !== undefined && createdAtMs >= this.#cursor.atMs
        if (status === 'running' || status === 'queued' || isNew) void this.#followIfAllowed(session, id, 0)
      }
  }

  /** Follows the runs of the caller in the queue, and looks from time to time for those that other servers added. */
  async #followQueued(queued: QueuedRuns): Promise<void> {
    const ended = new Set<string>()
    let isFirst = true
    const look = async (): Promise<void> => {
      for (const run of await queued.newest(this.#principal)) {
        const { runId, sessionId, submittedAtMs } = run
        if (ended.has(runId) || this.#followed.has(keyOf(sessionId, runId))) continue
        const isMissed = this.#cursor !== undefined && submittedAtMs >= this.#cursor.atMs
        if (isFirst && !isOpenRun(run) && !isMissed) {
          ended.add(runId)
          continue
        }
        const from = this.#places.get(keyOf(sessionId, runId)) ?? 0
        if (!(await this.#followIn(sessionId, runId, from))) ended.add(runId)
      }
      isFirst = false
    }
    await look()
    let looking = Promise.resolve()
    this.#timer = setInterval(() => {
      looking = looking.then(look).catch((error: unknown) => this.#core.report(error))
    }, lookEveryMs)
    this.#timer.unref()
  }

  /**
   * Follows a run. False when there is no such session. A session that cannot be opened is tried again, ever less
   * often, and reported once: it must not hold up the others.
   */
  async #followIn(sessionId: string, runId: string, from: number): Promise<boolean> {
    const key = keyOf(sessionId, runId)
    const failure = this.#failures.get(key)
    if (failure !== undefined && failure.skips > 0) {
      failure.skips--
      return true
    }
    try {
      const session = await this.#core.pool.find(this.#principal, sessionId)
      this.#failures.delete(key)
      void this.#followIfAllowed(session, runId, from)
      return true
    } catch (error) {
      if (error instanceof ProblemError && error.code === 'session_not_found') return false
      if (failure === undefined) this.#core.report(error)
      const times = (failure?.times ?? 0) + 1
      this.#failures.set(key, { times, skips: Math.min(2 ** (times - 1) - 1, maxSkips) })
      return true
    }
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

  /** Follows a run. At most one event of each run waits here, so a slow reader costs no memory. */
  async #follow(session: Session, runId: string, from: number): Promise<void> {
    const { sessionId } = session
    const key = keyOf(sessionId, runId)
    if (this.#followed.has(key)) return
    this.#followed.add(key)
    this.#places.set(key, from)
    const { signal } = this.#leaving
    const source = this.#core.follow(this.#principal, session, runId, { from, signal })
    for await (const one of source) {
      if (signal.aborted) return
      const isLast = ['agent_end', 'error', 'agent_cancelled'].includes(one.event.type)
      await new Promise<void>((taken) => {
        this.#ready.push({ key, sessionId, runId, isLast, one, taken })
        this.#wake()
      })
    }
  }

  /** Follows a run of the caller's tenant that the caller is allowed to watch. */
  async #followIfAllowed(session: Session, runId: string, from: number): Promise<void> {
    if (!seesTenant(this.#principal, session.tenantId)) return
    try {
      if (await this.#core.allows(this.#principal, 'watchRun', session))
        await this.#follow(session, runId, from)
    } catch (error) {
      this.#core.report(error)
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
/** A session that cannot be opened is tried about once a minute in the end. */
const maxSkips = 60
