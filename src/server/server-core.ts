import { setMaxListeners } from 'node:events'
import type { Agent } from '../agent/agent.js'
import { reportQueue } from '../cluster/queue-metrics.js'
import { isOpenRun } from '../run-queue/run-queue.js'
import type { Attachment } from '../session/request.js'
import type { RunEvent } from '../session/run-events.js'
import type { RunSnapshot } from '../session/runs.js'
import type { Session } from '../session/session.js'
import type { SessionInfo } from '../store/session-store.js'
import type { JsonObject } from '../tool/json.js'
import { withTimeout } from '../workspace/shell/with-timeout.js'
import { allowsAction } from './allows-action.js'
import { earlierInChain, followRun, type Resumed } from './follow-run.js'
import { BrowserSignIn } from './inspector/browser-sign-in.js'
import { digestOf, LocalRuns } from './local-runs.js'
import { Metrics } from './metrics.js'
import { defaultLimits, type Principal, type ServerLimits, type ServerOptions } from './options.js'
import { PendingAnswers } from './pending-answers.js'
import { ProblemError } from './problem.js'
import { SavedAnswers } from './questions.js'
import { QueuedRuns } from './queued-runs.js'
import { SessionPool } from './session-pool.js'
import { SessionSummaries } from './session-summary.js'
import { UsageLimits } from './usage-limits.js'

export type RunInput = {
  readonly prompt: string
  readonly attachments?: readonly Attachment[] | undefined
  readonly metadata?: JsonObject | undefined
  /**
   * The `traceparent` header of the request. The run belongs to that span, unless its metadata contains another one.
   */
  readonly traceparent?: string | undefined
  /** The id under which the caller logs the request, for runs that a worker executes. */
  readonly correlationId?: string | undefined
}

export type FollowPlace = {
  /** The last sequence number that the reader received. */
  readonly from: number
  readonly signal: AbortSignal
  /** Whether reading resumes an interrupted run. Default: true. */
  readonly resumes?: boolean | undefined
}

/** The state that all routes share: sessions, limits, active runs, and the shutdown of the server. */
export class ServerCore {
  readonly agent: Agent
  readonly options: ServerOptions
  readonly limits: ServerLimits
  readonly pool: SessionPool
  readonly summaries: SessionSummaries
  readonly savedAnswers = new SavedAnswers()
  /** The runs that this process executes. */
  readonly local = new LocalRuns(this)
  /** The approvals and questions that wait for a user. */
  readonly pending = new PendingAnswers(this)
  readonly usage: UsageLimits
  readonly metrics = new Metrics()
  /** The browsers that are signed in to the inspector; absent when it is not served. */
  readonly browsers: BrowserSignIn | undefined
  /** The runs, if workers execute them; undefined if this process does. */
  readonly queued: QueuedRuns | undefined
  /** Aborted when the server stops, which ends all streams. */
  readonly stopping = new AbortController()
  readonly #starts = new Set<(session: Session, runId: string) => void>()
  #isDraining = false

  constructor(agent: Agent, options: ServerOptions) {
    this.agent = agent
    this.options = options
    // Every stream adds a listener.
    setMaxListeners(0, this.stopping.signal)
    this.limits = { ...defaultLimits, ...options.limits }
    this.pool = new SessionPool(agent, options, this.savedAnswers, this.now)
    this.summaries = new SessionSummaries(this.pool, this.now)
    this.usage = new UsageLimits(this.limits, this.now)
    if (options.inspector) this.browsers = new BrowserSignIn(secretsOf(options), this.now)
    const { queue, clusterKey } = options
    if (queue === undefined) return
    if (options.store === undefined)
      throw new TypeError('createServer with a queue needs the store of the workers.')
    this.queued = new QueuedRuns({ queue, store: options.store, clusterKey })
    const endReport = reportQueue(agent.meter, queue, (error) => this.report(error))
    this.stopping.signal.addEventListener('abort', endReport, { once: true })
  }

  readonly now = (): number => Date.now()

  get isDraining(): boolean {
    return this.#isDraining
  }

  /** Calls the listener with every run that this process starts. Returns a function that removes it. */
  onStart(listener: (session: Session, runId: string) => void): () => void {
    this.#starts.add(listener)
    return () => this.#starts.delete(listener)
  }

  /** Calls the listeners for a run that this process started. */
  started(session: Session, runId: string): void {
    for (const listener of this.#starts) listener(session, runId)
  }

  /**
   * Starts a run, or returns the one that was started with the same key. Resolves when the run is in the store, so if
   * the process ends afterwards, the run can be resumed. All routes start runs with this method.
   */
  async startRun(
    principal: Principal,
    session: Session,
    input: RunInput,
    key?: string | undefined,
  ): Promise<RunSnapshot> {
    // Messages, the chat protocol and AG-UI start runs too: a host that denies runs denies all of them.
    await this.authorize(principal, 'startRun', session)
    if (this.queued !== undefined) return this.#enqueue(this.queued, principal, session, input, key)
    return this.local.start(principal, session, input, key)
  }

  /** Adds a run to the queue. It counts as a run of the principal until it has ended. */
  async #enqueue(
    queued: QueuedRuns,
    principal: Principal,
    session: Session,
    input: RunInput,
    key: string | undefined,
  ): Promise<RunSnapshot> {
    if (this.#isDraining) throw new ProblemError('server_stopping')
    // The session may have been created or rewound in this process just now.
    await this.release(session)
    const release = this.usage.take(principal, 'runs')
    const own = key === undefined ? undefined : digestOf([principal.id, session.sessionId, key])
    const { run, isNew } = await queued.submit(principal, session, input, own).catch((error: unknown) => {
      release()
      throw error
    })
    if (!isNew) {
      release()
      return run
    }
    this.metrics.runStarted()
    this.started(session, run.id)
    queued
      .ended(run.id, this.stopping.signal)
      .then((ended) => {
        if (ended !== undefined && !isOpenRun(ended)) this.metrics.runEnded(ended.state, null)
      })
      .catch((error: unknown) => this.report(error))
      .finally(release)
    return run
  }

  /** The runs of a session, oldest first. */
  runs(session: Session): Promise<readonly RunSnapshot[]> {
    return this.queued === undefined ? session.runs() : this.queued.list(session)
  }

  async run(session: Session, runId: string): Promise<RunSnapshot | undefined> {
    if (this.queued !== undefined) return (await this.runs(session)).find(({ id }) => id === runId)
    return (await session.runSnapshot(runId)) ?? undefined
  }

  /** Returns the run of a session that is active, or waits in the queue of the cluster. */
  async activeRun(session: Session): Promise<RunSnapshot | undefined> {
    if (this.queued === undefined) return (await session.currentRun()) ?? undefined
    return (await this.runs(session)).find(({ status }) => status === 'running' || status === 'queued')
  }

  /** Yields the events of a run from a sequence number on, wherever it is executed. */
  async *follow(
    principal: Principal,
    session: Session,
    runId: string,
    { from, signal, resumes = true }: FollowPlace,
  ): AsyncGenerator<RunEvent, void, undefined> {
    if ((await this.queued?.find(session, runId)) !== undefined && this.queued !== undefined)
      yield* this.queued.follow(principal, runId, from, signal)
    else
      yield* followRun(session, runId, {
        from,
        signal,
        pool: this.pool,
        resume: async (current, cut) => (resumes ? this.resumeForReader(principal, current, cut) : undefined),
        now: this.now,
      })
  }

  /** Returns the events of a run up to a sequence number, including those of the runs that continued it. */
  async earlier(session: Session, runId: string, upTo: number): Promise<readonly RunEvent[]> {
    if (this.queued === undefined) return earlierInChain(session, runId, upTo)
    return (await this.queued.logged(session, runId)).filter(({ sequence }) => sequence <= upTo)
  }

  /** Whether the log has events of a run after a sequence number. */
  async hasMore(session: Session, runId: string, from: number): Promise<boolean> {
    const events =
      this.queued === undefined ? await session.runEvents(runId) : await this.queued.logged(session, runId)
    return (events.at(-1)?.sequence ?? 0) > from
  }

  /** Cancels a run that is active or waits. Returns false when it has ended. */
  cancel(principal: Principal, session: Session, runId: string): Promise<boolean> {
    return this.queued === undefined ? session.cancelRun(runId) : this.queued.cancel(principal, runId)
  }

  /** Adds a message to the active run. Returns false when it is not active. */
  async steer(principal: Principal, session: Session, runId: string, text: string): Promise<boolean> {
    if (this.queued === undefined) return (await session.currentRun())?.id === runId && session.steer(text)
    await this.queued.steer(principal, runId, text)
    return true
  }

  /** Cancels the runs of a session that are in the queue, and waits until no worker holds it. */
  async endQueued(principal: Principal, session: Session): Promise<void> {
    const signal = AbortSignal.any([this.stopping.signal, AbortSignal.timeout(endWithinMs)])
    for (const { runId } of (await this.queued?.openRuns(session)) ?? []) {
      await this.queued?.cancel(principal, runId)
      await this.queued?.ended(runId, signal)
    }
  }

  /** Throws when another live process holds the session, because only that process can change it. */
  async refuseElsewhere(session: Session): Promise<void> {
    if (await this.pool.isElsewhere(session)) throw new ProblemError('session_locked')
  }

  /** Resumes an interrupted run for its reader; undefined when it cannot be resumed, or not by this reader. */
  async resumeForReader(
    principal: Principal,
    session: Session,
    run: RunSnapshot,
  ): Promise<Resumed | undefined> {
    if (!(await this.allows(principal, 'resumeRun', session))) return undefined
    return this.resumeIfPossible(session, run)
  }

  /** Returns the run that continues an interrupted one; undefined when it cannot be resumed. */
  async resumeIfPossible(session: Session, run: RunSnapshot): Promise<Resumed | undefined> {
    if (this.options.resumeRuns === false || this.#isDraining) return undefined
    try {
      return await this.local.resume(session, run.id)
    } catch (error) {
      this.report(error)
      return undefined
    }
  }

  /** Releases a session that this process has changed, so that workers can acquire it. */
  async release(session: Session): Promise<void> {
    if (this.queued !== undefined) await this.pool.release(session)
  }

  /** Throws unless the host allows the action. */
  async authorize(principal: Principal, action: string, session?: Session): Promise<void> {
    if (!(await this.allows(principal, action, session)))
      throw new ProblemError('forbidden', `The caller is not allowed to do ${action}.`)
  }

  /** Whether the host allows the action. */
  allows(principal: Principal, action: string, session?: Session | SessionInfo): Promise<boolean> {
    return allowsAction(this.options, principal, action, session)
  }

  report(error: unknown): void {
    this.options.onError?.(error)
  }

  /** Accepts no new runs. Active runs can end until the time is over; then streams end and sessions are suspended. */
  async close(drainMs = 0): Promise<void> {
    this.#isDraining = true
    if (drainMs > 0) await withTimeout(this.local.settled(), drainMs)
    // Before suspending the sessions: a reader must not receive the end of a run that ends only in this process.
    this.stopping.abort()
    await this.pool.suspendAll()
  }
}

/** Returns the tokens of a server, which sign its cookies. A host with its own authentication has none. */
function secretsOf({ token, authenticate }: ServerOptions): string[] {
  if (authenticate !== undefined || token === undefined) return []
  return typeof token === 'string' ? [token] : token.map((one) => one.token)
}

/** How long the removal of a session waits for the workers that hold it. */
const endWithinMs = 10_000
