import { createHash, randomUUID } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import type { Agent } from '../agent/agent.js'
import { reportQueue } from '../cluster/queue-metrics.js'
import { isOpenRun } from '../run-queue/run-queue.js'
import type { PendingConfirmation } from '../session/confirmations.js'
import type { Attachment } from '../session/request.js'
import type { RunEvent } from '../session/run-events.js'
import type { RunSnapshot } from '../session/runs.js'
import type { Session } from '../session/session.js'
import { kernelOf } from '../session/session-class.js'
import type { SessionInfo } from '../store/session-store.js'
import { CapstanError } from '../tool/errors.js'
import type { JsonObject } from '../tool/json.js'
import type { QuestionAnswers } from '../tool/session-services.js'
import { earlierInChain, followRun, type Resumed } from './follow-run.js'
import { BrowserSignIn } from './inspector/browser-sign-in.js'
import { readActions } from './inspector/read-actions.js'
import { Metrics } from './metrics.js'
import {
  defaultLimits,
  type Principal,
  type ServerLimits,
  type ServerOptions,
  type SessionFacts,
} from './options.js'
import { ProblemError } from './problem.js'
import { openQuestions, type PendingQuestion, SavedAnswers, savedQuestions } from './questions.js'
import { QueuedRuns } from './queued-runs.js'
import { SessionPool } from './session-pool.js'
import { SessionSummaries } from './session-summary.js'
import { UsageLimits } from './usage-limits.js'

export type RunInput = {
  readonly prompt: string
  readonly attachments?: readonly Attachment[] | undefined
  readonly metadata?: JsonObject | undefined
  /** The `traceparent` header of the request: the run belongs to that span, unless its metadata names one. */
  readonly traceparent?: string | undefined
  /** The id under which the caller logs the request, for runs that a worker executes. */
  readonly correlationId?: string | undefined
}

export type FollowPlace = {
  /** The last number that the reader has. */
  readonly from: number
  readonly signal: AbortSignal
  /** Whether reading resumes a run that was cut off; true unless given. */
  readonly resumes?: boolean | undefined
}

/** The state that all routes share: sessions, limits, active runs, and the shutdown of the server. */
export class ServerCore {
  readonly agent: Agent
  readonly options: ServerOptions
  readonly limits: ServerLimits
  readonly pool: SessionPool
  readonly summaries: SessionSummaries
  readonly #savedAnswers = new SavedAnswers()
  readonly usage: UsageLimits
  readonly metrics = new Metrics()
  /** The browsers that are signed in to the inspector; absent when it is not served. */
  readonly browsers: BrowserSignIn | undefined
  /** The runs, when workers execute them; undefined when this process does. */
  readonly queued: QueuedRuns | undefined
  /** Aborted when the server stops: streams end. */
  readonly stopping = new AbortController()
  readonly #active = new Map<string, Promise<unknown>>()
  readonly #resuming = new Map<string, Promise<Resumed>>()
  /** Runs with a key that are not in the store yet. */
  readonly #starting = new Map<string, { readonly runId: string; readonly run: Promise<RunSnapshot> }>()
  readonly #starts = new Set<(session: Session, runId: string) => void>()
  /** Answers that were given, by session and call or question. */
  readonly #answers = new Map<string, string>()
  #isDraining = false

  constructor(agent: Agent, options: ServerOptions) {
    this.agent = agent
    this.options = options
    // Every stream listens.
    setMaxListeners(0, this.stopping.signal)
    this.limits = { ...defaultLimits, ...options.limits }
    this.pool = new SessionPool(agent, options, this.#savedAnswers, this.now)
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

  get activeRuns(): number {
    return this.#active.size
  }

  /** Calls the listener with every run that starts here. Returns a function that removes it. */
  onStart(listener: (session: Session, runId: string) => void): () => void {
    this.#starts.add(listener)
    return () => this.#starts.delete(listener)
  }

  /**
   * Starts a run, or gives the one that the same key started before. Resolves when the run is in the store, so a
   * process that ends afterwards leaves a run that can be resumed. All routes start runs here.
   */
  async startRun(
    principal: Principal,
    session: Session,
    input: RunInput,
    key?: string | undefined,
  ): Promise<RunSnapshot> {
    // Messages and the dialects start runs too: a host that refuses runs refuses all of them.
    await this.authorize(principal, 'startRun', session)
    if (this.queued !== undefined) return this.#enqueue(this.queued, principal, session, input, key)
    if (key === undefined) return this.#submit(principal, session, input, randomUUID())
    const prefix = keyPrefix(principal, session.sessionId, key)
    // Each attempt of a client can have a trace of its own.
    const { traceparent: _, correlationId: __, ...asked } = input
    const runId = `${prefix}${digestOf(asked).slice(0, 16)}`
    const known = (await session.runs()).find(({ id }) => id.startsWith(prefix))
    const starting = this.#starting.get(prefix)
    const other = known?.id ?? starting?.runId
    if (other !== undefined && other !== runId) throw new ProblemError('idempotency_key_reused')
    if (starting !== undefined) return starting.run
    if (known !== undefined) return known
    const run = this.#submit(principal, session, input, runId)
    this.#starting.set(prefix, { runId, run })
    return run.finally(() => this.#starting.delete(prefix))
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
    // It was created or rewound here just now.
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
    for (const listener of this.#starts) listener(session, run.id)
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

  /** The run of a session that is active, or waits its turn in the queue of the cluster. */
  async activeRun(session: Session): Promise<RunSnapshot | undefined> {
    if (this.queued === undefined) return (await session.currentRun()) ?? undefined
    return (await this.runs(session)).find(({ status }) => status === 'running' || status === 'queued')
  }

  /** The events of a run from a number on, wherever it is executed. */
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

  /** The events of a run that a reader has up to a number, with those of the runs that continued it. */
  async earlier(session: Session, runId: string, upTo: number): Promise<readonly RunEvent[]> {
    if (this.queued === undefined) return earlierInChain(session, runId, upTo)
    return (await this.queued.logged(session, runId)).filter(({ sequence }) => sequence <= upTo)
  }

  /** Whether the log has events of a run after a number. */
  async hasMore(session: Session, runId: string, from: number): Promise<boolean> {
    const events =
      this.queued === undefined ? await session.runEvents(runId) : await this.queued.logged(session, runId)
    return (events.at(-1)?.sequence ?? 0) > from
  }

  /** Cancels a run that is active or waits. False when it has ended. */
  cancel(principal: Principal, session: Session, runId: string): Promise<boolean> {
    return this.queued === undefined ? session.cancelRun(runId) : this.queued.cancel(principal, runId)
  }

  /** Adds a message to the active run. False when it is not active. */
  async steer(principal: Principal, session: Session, runId: string, text: string): Promise<boolean> {
    if (this.queued === undefined) return (await session.currentRun())?.id === runId && session.steer(text)
    await this.queued.steer(principal, runId, text)
    return true
  }

  /** Cancels the runs of a session that are in the queue, and waits until no worker has it. */
  async endQueued(principal: Principal, session: Session): Promise<void> {
    const signal = AbortSignal.any([this.stopping.signal, AbortSignal.timeout(endWithinMs)])
    for (const { runId } of (await this.queued?.openRuns(session)) ?? []) {
      await this.queued?.cancel(principal, runId)
      await this.queued?.ended(runId, signal)
    }
  }

  /** Hands a run to the session, which runs it in this process. */
  async #submit(
    principal: Principal,
    session: Session,
    { prompt, attachments, metadata, traceparent }: RunInput,
    runId: string,
  ): Promise<RunSnapshot> {
    if (this.#isDraining) throw new ProblemError('server_stopping')
    const release = this.usage.take(principal, 'runs')
    const ended = session.send({
      prompt,
      runId,
      ...(attachments !== undefined && { attachments }),
      ...((metadata ?? traceparent) !== undefined && {
        metadata: { ...(traceparent !== undefined && { traceparent }), ...metadata },
      }),
    })
    this.#watchEnd(session, runId, ended, release)
    const started = await session.runSnapshot(runId)
    if (started === null) {
      await ended
      throw new ProblemError('internal_error')
    }
    for (const listener of this.#starts) listener(session, runId)
    if (started.status !== 'queued') await this.#begun(session, runId)
    await session.save()
    return (await session.runSnapshot(runId)) ?? started
  }

  /** Waits for the first event. Throws when the session could not be acquired: then no run was started. */
  async #begun(session: Session, runId: string): Promise<void> {
    for await (const { event } of session.watch(runId)) {
      if (event.type !== 'error' || event.code === undefined) return
      if (event.code !== 'session_locked' && event.code !== 'store_stale') return
      void this.pool.close(session.sessionId)
      throw new CapstanError(event.code, event.error)
    }
  }

  #watchEnd(session: Session, runId: string, ended: Promise<unknown>, release: () => void): void {
    const hold = this.pool.hold(session.sessionId)
    const key = `${session.sessionId}/${runId}`
    const settled = ended
      .then(
        () => 'completed',
        () => 'failed',
      )
      .then(async (outcome) => {
        release()
        hold()
        this.#active.delete(key)
        const run = await session.runSnapshot(runId)
        this.metrics.runEnded(run?.status ?? outcome, run)
        if ((await session.currentRun()) === null) this.#savedAnswers.forget(session.sessionId)
      })
    this.#active.set(key, settled)
    this.metrics.runStarted()
  }

  /** Resumes a run that was cut off; callers that ask at the same time share one resumption. */
  resume(session: Session, runId: string): Promise<Resumed> {
    const key = `${session.sessionId}/${runId}`
    const known = this.#resuming.get(key)
    if (known !== undefined) return known
    const resuming = this.#resume(session, runId)
    this.#resuming.set(key, resuming)
    const forget = (): unknown => this.#resuming.delete(key)
    resuming.then(forget, forget)
    return resuming
  }

  async #resume(session: Session, runId: string): Promise<Resumed> {
    if (this.#isDraining) throw new ProblemError('server_stopping')
    await this.refuseElsewhere(session)
    return new Promise<Resumed>((resolve, reject) => {
      const onStart = (newRunId: string): void => {
        resolve({ runId: newRunId })
        for (const listener of this.#starts) listener(session, newRunId)
      }
      const ended = session.resumeRun(runId, { onStart })
      ended.then((result) => resolve({ result }), reject)
      this.#watchEnd(session, `${runId}+`, ended, () => undefined)
    })
  }

  /** Throws when another living process has the session: only that process can change it. */
  async refuseElsewhere(session: Session): Promise<void> {
    if (await this.pool.isElsewhere(session)) throw new ProblemError('session_locked')
  }

  /** The questions of a session that wait for answers: of this process, and of one that has ended. */
  async pendingQuestions(principal: Principal, session: Session): Promise<PendingQuestion[]> {
    if (this.queued !== undefined) return this.queued.questions(principal, session)
    const live = openQuestions(session)
    const saved = await savedQuestions(this.pool.store, session)
    return [...live, ...saved.filter(({ questionId }) => !live.some((one) => one.questionId === questionId))]
  }

  /** The approvals and questions of a session that wait for a user. */
  async waiting(
    principal: Principal,
    session: Session,
  ): Promise<{ readonly approvals: PendingConfirmation[]; readonly questions: PendingQuestion[] }> {
    if (this.queued === undefined)
      return {
        approvals: session.pendingConfirmations(),
        questions: openQuestions(session),
      }
    // The log has more by now.
    const current = await this.pool.current(session.sessionId)
    return {
      approvals: current.pendingConfirmations(),
      questions: await this.queued.questions(principal, current),
    }
  }

  /**
   * Answers a question. One of a process that has ended is answered by resuming its run: gives the run that continues
   * it then.
   */
  async answerQuestion(
    principal: Principal,
    session: Session,
    questionId: string,
    answers: QuestionAnswers,
  ): Promise<string | undefined> {
    if (await this.queued?.answerQuestion(principal, session, questionId, answers)) return undefined
    const pending = (await this.pendingQuestions(principal, session)).find(
      (one) => one.questionId === questionId,
    )
    if (pending !== undefined && pending.questions.length !== answers.answers.length)
      throw new ProblemError('invalid_request', `There must be ${pending.questions.length} lists of answers.`)
    if (pending?.fromBefore === true) return this.#answerSaved(session, pending, answers)
    if (await session.answerQuestion(questionId, answers)) {
      this.rememberAnswer(session.sessionId, `question ${questionId}`, 'answered')
      return undefined
    }
    const isKnown = this.answerTo(session.sessionId, `question ${questionId}`) !== undefined
    throw new ProblemError(
      isKnown || hasAsked(session, questionId) ? 'already_answered' : 'question_not_found',
    )
  }

  async #answerSaved(
    session: Session,
    pending: PendingQuestion,
    answers: QuestionAnswers,
  ): Promise<string | undefined> {
    const cut = (await session.runs()).findLast(({ status }) => status === 'interrupted')
    if (cut === undefined) throw new ProblemError('question_not_found')
    this.#savedAnswers.put(session.sessionId, pending, answers)
    try {
      const resumed = await this.resume(session, cut.id)
      return 'runId' in resumed ? resumed.runId : undefined
    } catch (error) {
      this.#savedAnswers.forget(session.sessionId)
      throw error
    }
  }

  /** Resumes a run that was cut off for its reader; undefined when it cannot be resumed, or not by this reader. */
  async resumeForReader(
    principal: Principal,
    session: Session,
    run: RunSnapshot,
  ): Promise<Resumed | undefined> {
    if (!(await this.allows(principal, 'resumeRun', session))) return undefined
    return this.resumeIfPossible(session, run)
  }

  /** The run that continues one that was cut off; undefined when it cannot be resumed. */
  async resumeIfPossible(session: Session, run: RunSnapshot): Promise<Resumed | undefined> {
    if (this.options.resumeRuns === false || this.#isDraining) return undefined
    try {
      return await this.resume(session, run.id)
    } catch (error) {
      this.report(error)
      return undefined
    }
  }

  rememberAnswer(sessionId: string, callId: string, decision: string): void {
    this.#answers.set(`${sessionId}/${callId}`, decision)
    if (this.#answers.size <= maxAnswers) return
    const [oldest] = this.#answers.keys()
    if (oldest !== undefined) this.#answers.delete(oldest)
  }

  answerTo(sessionId: string, callId: string): string | undefined {
    return this.#answers.get(`${sessionId}/${callId}`)
  }

  /** Whether a call has asked for an approval in a run that is known here, now or before. */
  async wasAsked(session: Session, callId: string): Promise<boolean> {
    for (const { id } of (await session.runs()).toReversed()) {
      const events = await session.runEvents(id)
      if (events.some(({ event }) => event.type === 'confirmation_required' && event.toolId === callId))
        return true
    }
    return false
  }

  /** Workers must be able to acquire a session that this process has only changed. */
  async release(session: Session): Promise<void> {
    if (this.queued !== undefined) await this.pool.release(session)
  }

  /** Throws unless the host allows the action. */
  async authorize(principal: Principal, action: string, session?: Session): Promise<void> {
    if (!(await this.allows(principal, action, session)))
      throw new ProblemError('forbidden', `The caller is not allowed to do ${action}.`)
  }

  /** Whether the host allows the action. */
  async allows(principal: Principal, action: string, session?: Session | SessionInfo): Promise<boolean> {
    if (principal.readsOnly !== undefined && !isReading(principal.readsOnly, action, session)) return false
    return (await this.options.authorize?.(principal, action, session && factsOf(session))) ?? true
  }

  report(error: unknown): void {
    this.options.onError?.(error)
  }

  /** No new runs; those that are active can end until the time is over. Then streams end and sessions are suspended. */
  async close(drainMs = 0): Promise<void> {
    this.#isDraining = true
    if (drainMs > 0) {
      let timer: ReturnType<typeof setTimeout> | undefined
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, drainMs)
      })
      await Promise.race([Promise.all(this.#active.values()), late])
      clearTimeout(timer)
    }
    // Before the sessions: a reader must not see the end of a run that only its process ends.
    this.stopping.abort()
    await this.pool.suspendAll()
  }
}

/** Whether an action reads one session and changes nothing. */
function isReading(sessionId: string, action: string, session: Session | SessionInfo | undefined): boolean {
  if (action === 'getInspector' || action === 'signOut') return true
  return readActions.has(action) && session !== undefined && factsOf(session).sessionId === sessionId
}

/** The tokens of a server, which sign its cookies. A host with an authentication of its own has none. */
function secretsOf({ token, authenticate }: ServerOptions): string[] {
  if (authenticate !== undefined || token === undefined) return []
  return typeof token === 'string' ? [token] : token.map((one) => one.token)
}

function factsOf(session: Session | SessionInfo): SessionFacts {
  if ('id' in session) {
    const { id: sessionId, workspaceRoot: workspace = '', labels } = session
    return { sessionId, workspace, tenantId: labels?.['tenantId'], principal: labels?.['principal'] }
  }
  return {
    sessionId: session.sessionId,
    workspace: session.workspace,
    tenantId: session.tenantId ?? undefined,
    principal: session.principal ?? undefined,
  }
}

/** How the id of a run begins that a caller started with this key, in every process that has the store. */
function keyPrefix({ id, tenantId = '' }: Principal, sessionId: string, key: string): string {
  return `run-${digestOf([tenantId, id, sessionId, key]).slice(0, 32)}-`
}

function digestOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex')
}

/** Whether a call of this id has put a question, in a process that has ended. */
function hasAsked(session: Session, callId: string): boolean {
  return kernelOf(session).conversation.messages.some(
    ({ role, content }) =>
      role === 'assistant' &&
      content.some(
        (part) => part.type === 'tool_call' && part.id === callId && part.function.name === 'question',
      ),
  )
}

const maxAnswers = 10_000
/** How long the removal of a session waits for the workers that have it. */
const endWithinMs = 10_000
