import { chainOf } from '../cluster/chain-events.js'
import { followRun, storedEvents } from '../cluster/follow-run.js'
import { RunClient } from '../cluster/run-client.js'
import type { ApprovalDecision, ClusterKey } from '../cluster/signed-answer.js'
import { isOpenRun, type QueuedRun, type RunQueue } from '../run-queue/run-queue.js'
import type { RunEvent } from '../session/run-events.js'
import type { RunSnapshot, RunStatus } from '../session/runs.js'
import type { Session } from '../session/session.js'
import type { SessionStore } from '../store/session-store.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import type { QuestionAnswers } from '../tool/session-services.js'
import type { ClusterMeasures } from './metrics.js'
import type { Principal } from './options.js'
import { ProblemError } from './problem.js'
import type { PendingQuestion } from './questions.js'
import type { RunInput } from './server-core.js'

export type QueuedRunsOptions = {
  readonly queue: RunQueue
  readonly store: SessionStore
  readonly clusterKey?: ClusterKey | undefined
}

/**
 * The runs of a server that executes none itself: they wait in a queue, and workers of the cluster execute them. This
 * process only reads the sessions.
 */
export class QueuedRuns {
  readonly queue: RunQueue
  readonly #store: SessionStore
  readonly #clusterKey: ClusterKey | undefined

  constructor({ queue, store, clusterKey }: QueuedRunsOptions) {
    this.queue = queue
    this.#store = store
    this.#clusterKey = clusterKey
  }

  /** Adds a run to the queue. `isNew` is false when it was already added with the same key. */
  async submit(
    principal: Principal,
    { sessionId }: Session,
    { prompt, attachments, metadata, traceparent, correlationId }: RunInput,
    idempotencyKey: string | undefined,
  ): Promise<{ readonly run: RunSnapshot; readonly isNew: boolean }> {
    const client = this.#client(principal)
    const { runId, isNew } = await client.submit({
      prompt,
      sessionId,
      attachments,
      metadata,
      traceparent,
      correlationId,
      idempotencyKey,
      principal: principal.id,
    })
    const run = await client.get(runId)
    if (run === undefined) throw new ProblemError('run_not_found')
    return { run: snapshotOf(run), isNew }
  }

  /**
   * Returns the runs of a session, oldest first: those of its log, with their states in the queue, and those that wait.
   */
  async list(session: Session): Promise<RunSnapshot[]> {
    const logged = await session.runs()
    const queued = new Map((await this.#runsOf(session)).map((run) => [run.runId, run]))
    const known = logged.map((run) => shownRun(run, logged, queued))
    const waiting = [...queued.values()].filter(({ runId }) => !logged.some(({ id }) => id === runId))
    return [...known, ...waiting.toReversed().map(snapshotOf)]
  }

  /** Returns the run if it is in the queue, so that workers execute it. */
  async find({ sessionId }: Session, runId: string): Promise<QueuedRun | undefined> {
    const run = await this.queue.get(runId)
    return run?.sessionId === sessionId ? run : undefined
  }

  /** The runs of a session that have not ended. */
  async openRuns({ sessionId }: Session): Promise<readonly QueuedRun[]> {
    const states = ['queued', 'active', 'waiting'] as const
    return (await this.queue.list({ sessionId, states, limit: maxRuns })).runs
  }

  /** The newest runs of a tenant, newest first. */
  async newest({ tenantId }: Principal): Promise<readonly QueuedRun[]> {
    return (await this.queue.list({ tenantId, limit: maxNewest })).runs
  }

  follow(
    principal: Principal,
    runId: string,
    from: number,
    signal: AbortSignal,
  ): AsyncGenerator<RunEvent, void, undefined> {
    const { tenantId } = principal
    return followRun(runId, { store: this.#store, queue: this.queue, scope: { tenantId }, from, signal })
  }

  /** Returns the logged events of a run, with the sequence numbers of its stream. */
  async logged(session: Session, runId: string): Promise<readonly RunEvent[]> {
    const run = await this.find(session, runId)
    return run === undefined ? session.runEvents(runId) : storedEvents(this.#store, run)
  }

  /** Asks the worker of a run to end it, or removes it from the queue. Returns false when it has ended. */
  async cancel(principal: Principal, runId: string): Promise<boolean> {
    return (await this.#client(principal).cancel(runId)) !== 'ended'
  }

  async steer(principal: Principal, runId: string, text: string): Promise<void> {
    await this.#client(principal).steer(runId, text)
  }

  /** Queues a dead run again; other runs continue by themselves. Returns false when it has ended in another way. */
  async resume(principal: Principal, run: QueuedRun): Promise<boolean> {
    if (run.state === 'dead') await this.#client(principal).redrive(run.runId)
    return run.state === 'dead' || isOpenRun(run)
  }

  /** Sends the answer to an approval to the run that waits for it. Returns false when no run of the session does. */
  async answer(
    principal: Principal,
    session: Session,
    callId: string,
    decision: ApprovalDecision,
    message: string | undefined,
  ): Promise<boolean> {
    const client = this.#client(principal)
    for (const { runId } of await this.openRuns(session)) {
      if (!(await client.approvals(runId)).some((one) => one.callId === callId)) continue
      await client.answer(runId, callId, decision, message, principal.id)
      return true
    }
    return false
  }

  async questions(principal: Principal, session: Session): Promise<PendingQuestion[]> {
    const client = this.#client(principal)
    const runs = await this.openRuns(session)
    return (await Promise.all(runs.map(({ runId }) => client.questions(runId)))).flat()
  }

  /** Sends the answers to a question to the run that asked. Returns false when no run of the session did. */
  async answerQuestion(
    principal: Principal,
    session: Session,
    questionId: string,
    { answers }: QuestionAnswers,
  ): Promise<boolean> {
    const client = this.#client(principal)
    for (const { runId } of await this.openRuns(session)) {
      if (!(await client.questions(runId)).some((one) => one.questionId === questionId)) continue
      await client.answerQuestion(runId, answers, questionId)
      return true
    }
    return false
  }

  /** Returns the state of the cluster, and how long the queue and the store took to respond. */
  async measures(): Promise<ClusterMeasures> {
    const startedAt = performance.now()
    const status = await this.queue.status()
    const queueMs = performance.now() - startedAt
    if (this.#store.now === undefined) return { status, queueMs }
    await this.#store.now()
    return { status, queueMs, storeMs: performance.now() - startedAt - queueMs }
  }

  /** Resolves with the run when it has ended. */
  async ended(runId: string, signal: AbortSignal): Promise<QueuedRun | undefined> {
    for (;;) {
      let wake = (): void => undefined
      const changed = new Promise<void>((resolve) => {
        wake = resolve
      })
      const unwatch = this.queue.watch(runId, wake)
      const timer = setTimeout(wake, lookEveryMs)
      timer.unref()
      signal.addEventListener('abort', wake, { once: true })
      try {
        const run = await this.queue.get(runId)
        if (run === undefined || !isOpenRun(run) || signal.aborted) return run
        await changed
      } finally {
        unwatch()
        clearTimeout(timer)
        signal.removeEventListener('abort', wake)
      }
    }
  }

  async #runsOf({ sessionId }: Session): Promise<readonly QueuedRun[]> {
    return (await this.queue.list({ sessionId, limit: maxRuns })).runs
  }

  #client({ tenantId, labels }: Principal): RunClient {
    return new RunClient({
      store: this.#store,
      queue: this.queue,
      tenantId,
      tier: labels?.['tier'],
      clusterKey: this.#clusterKey,
    })
  }
}

const maxRuns = 1_000
const maxNewest = 200
/** The interval of checks in case a notification of the queue was missed. */
const lookEveryMs = 30_000

/**
 * Returns a run of the log. The first run of a chain represents the whole chain, and its state is that of the queue.
 */
function shownRun(
  run: RunSnapshot,
  all: readonly RunSnapshot[],
  queued: ReadonlyMap<string, QueuedRun>,
): RunSnapshot {
  const chain = chainOf({ runs: new Map(all.map((one) => [one.id, one])) }, run.id)
  const last = chain.at(-1) ?? run
  const own = queued.get(run.id)
  if (own === undefined) return run
  const { resultText, error, usage, costUsd, updatedAtMs } = last
  return {
    ...run,
    status: statusOf(own),
    updatedAtMs,
    ...omitUndefined({ resultText, error: error ?? own.error?.message, usage, costUsd }),
  }
}

function snapshotOf(run: QueuedRun): RunSnapshot {
  const { runId, sessionId, prompt, submittedAtMs, updatedAtMs, error } = run
  return {
    id: runId,
    sessionId,
    status: statusOf(run),
    prompt,
    createdAtMs: submittedAtMs,
    updatedAtMs,
    eventCount: 0,
    ...(error !== undefined && { error: error.message }),
  }
}

function statusOf({ state, attempt }: QueuedRun): RunStatus {
  switch (state) {
    case 'queued':
      return attempt === 0 ? 'queued' : 'running'
    case 'active':
    case 'waiting':
      return 'running'
    case 'dead':
      return 'failed'
    default:
      return state
  }
}
