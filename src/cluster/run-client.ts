import { randomUUID } from 'node:crypto'
import type {
  CancelOutcome,
  ClusterStatus,
  QueuedRun,
  RunFilter,
  RunMessage,
  RunPage,
  RunQueue,
  TenantScope,
} from '../run-queue/run-queue.js'
import { askedQuestions } from '../session/journal/asked-questions.js'
import { isExpired } from '../session/journal/questions.js'
import { familyOf, load } from '../session/journal/restore.js'
import type { RunEvent } from '../session/run-events.js'
import type { ToolQuestion } from '../store/records.js'
import type { SessionStore } from '../store/session-store.js'
import type { Question } from '../tool/session-services.js'
import { ClusterError, runNotFound } from './errors.js'
import { followRun } from './follow-run.js'
import { type ApprovalDecision, answerId, type ClusterKey, clusterKey, signAnswer } from './signed-answer.js'
import { isDerivedSessionId, type SubmitRequest, submissionOf } from './submission.js'

/** The options of a {@link RunClient}. */
export type RunClientOptions = {
  readonly store: SessionStore
  readonly queue: RunQueue
  /** With a tenant, the client reads and changes only the runs and sessions of this tenant. */
  readonly tenantId?: string | undefined
  /** The name of the tenant's limit in the worker's `tenantLimits.tiers`. */
  readonly tier?: string | undefined
  /** The key that signs answers to approvals. Workers must have the same key; not needed in one process. */
  readonly clusterKey?: ClusterKey | undefined
  readonly now?: (() => number) | undefined
}

/** A run that was submitted. */
export type SubmittedRun = {
  readonly runId: string
  readonly sessionId: string
  /** False when the run was already submitted with the idempotency key. */
  readonly isNew: boolean
}

/** A call of a run that waits for an approval. */
export type PendingApproval = {
  readonly callId: string
  readonly toolName: string
  /** The arguments as JSON text. */
  readonly args: string
  readonly reasons: readonly string[]
  readonly notes: readonly string[]
  readonly askedAtMs: number
  readonly expiresAtMs?: number | undefined
}

/** A question of the model that waits for an answer. */
export type PendingQuestion = {
  /** The id of the call that asked. */
  readonly questionId: string
  readonly questions: readonly Question[]
  readonly askedAtMs: number
}

/** How long an answer is valid on its way to a worker. */
const answerLifetimeMs = 24 * 3_600_000

/**
 * Submits runs to a cluster, and follows and controls them from any node.
 *
 * @example
 * const client = new RunClient({ store, queue })
 * const { runId } = await client.submit({ prompt: 'Summarize the changes of this week.' })
 * for await (const { event } of client.events(runId)) console.log(event.type)
 */
export class RunClient {
  readonly #store: SessionStore
  readonly #queue: RunQueue
  readonly #scope: TenantScope
  readonly #tier: string | undefined
  readonly #key: Uint8Array
  readonly #now: () => number

  constructor({ store, queue, tenantId, tier, clusterKey: key, now = Date.now }: RunClientOptions) {
    this.#store = store
    this.#queue = queue
    this.#scope = { tenantId }
    this.#tier = tier
    this.#key = clusterKey(queue, key)
    this.#now = now
  }

  /** Adds a run to the queue. When it resolves, the run survives every process. */
  async submit(request: SubmitRequest): Promise<SubmittedRun> {
    const submission = submissionOf(request, { ...this.#scope, tier: this.#tier })
    if (request.sessionId !== undefined) await this.#checkSession(request.sessionId)
    const submitted = await this.#queue.submit(submission)
    if (submitted.outcome === 'conflict')
      throw new ClusterError(
        'run_conflict',
        'This idempotency key was used for another request. Use a new key, or send the same request.',
      )
    const { runId, sessionId } = submitted.run
    return { runId, sessionId, isNew: submitted.outcome === 'submitted' }
  }

  /** Returns a run; undefined when there is none, or it belongs to another tenant. */
  get(runId: string): Promise<QueuedRun | undefined> {
    return this.#queue.get(runId, this.#scope)
  }

  /** Lists runs, newest first. */
  list(filter: Omit<RunFilter, 'tenantId'> = {}): Promise<RunPage> {
    return this.#queue.list({ ...filter, ...(this.#scope.tenantId === undefined ? {} : this.#scope) })
  }

  /**
   * Follows a run from a sequence number on, wherever it is executed. Ends with the run. `from` is the last number that
   * the reader has.
   */
  events(
    runId: string,
    {
      from = 0,
      signal,
    }: { readonly from?: number | undefined; readonly signal?: AbortSignal | undefined } = {},
  ): AsyncGenerator<RunEvent, void, undefined> {
    return followRun(runId, { store: this.#store, queue: this.#queue, scope: this.#scope, from, signal })
  }

  /** Cancels a run that is queued, waiting or active. */
  async cancel(runId: string): Promise<Exclude<CancelOutcome, 'unknown'>> {
    const outcome = await this.#queue.cancel(runId, this.#scope)
    if (outcome === 'unknown') throw runNotFound(runId)
    return outcome
  }

  /** Adds a message to a run; the model reads it before its next answer. */
  async steer(runId: string, text: string): Promise<void> {
    if (typeof text !== 'string' || text.trim() === '')
      throw new ClusterError('submission_invalid', 'steer takes a text that is not empty.')
    await this.#open(runId)
    const message = { id: `steer-${randomUUID()}`, body: { kind: 'steer', text } }
    await this.#post(runId, message, false)
  }

  /** Returns the calls of a run that wait for an approval, on any node. */
  async approvals(runId: string): Promise<PendingApproval[]> {
    return (await this.#questions(await this.#open(runId))).map(
      ({ callId, toolName, args, reasons, notes, askedAtMs, expiresAtMs }) => ({
        callId,
        toolName,
        args,
        reasons,
        notes,
        askedAtMs,
        expiresAtMs,
      }),
    )
  }

  /** Approves or rejects a call of a run. The answer is signed, is bound to this question, and is used once. */
  async answer(
    runId: string,
    callId: string,
    decision: ApprovalDecision,
    message?: string | undefined,
    /** The user who decided, for the log. */
    by?: string | undefined,
  ): Promise<void> {
    const run = await this.#open(runId)
    const question = (await this.#questions(run)).find((one) => one.callId === callId)
    if (question === undefined)
      throw new ClusterError(
        'approval_not_found',
        `No call '${callId}' of the run '${runId}' waits for an approval.`,
      )
    const { sessionId } = run
    const { key, askedAtMs, expiresAtMs = Number.POSITIVE_INFINITY } = question
    const until = Math.min(expiresAtMs, this.#now() + answerLifetimeMs)
    const body = signAnswer(
      { runId, sessionId, callId, key, askedAtMs, decision, message, by, expiresAtMs: until },
      this.#key,
    )
    await this.#post(runId, { id: answerId({ runId, callId, askedAtMs }, this.#key), body }, true)
  }

  /** Returns the questions of the model that wait for answers, on any node. */
  async questions(runId: string): Promise<PendingQuestion[]> {
    const { sessionId } = await this.#open(runId)
    const state = await load(this.#store, sessionId)
    if (state === undefined) return []
    const family = familyOf(state, runId)
    return askedQuestions(state).flatMap(({ runId: asker, ...question }) =>
      asker !== undefined && family.has(asker) ? [question] : [],
    )
  }

  /**
   * Answers a question of the model, once: one list of answers for each of its parts. Without an id it answers the
   * oldest pending question.
   */
  async answerQuestion(
    runId: string,
    answers: readonly (readonly string[])[],
    questionId?: string | undefined,
  ): Promise<void> {
    const waiting = await this.questions(runId)
    const asked = questionId === undefined ? waiting[0] : waiting.find((one) => one.questionId === questionId)
    if (asked === undefined && questionId !== undefined)
      throw new ClusterError(
        'question_not_found',
        `No question '${questionId}' of the run '${runId}' waits for an answer.`,
      )
    if (asked !== undefined && asked.questions.length !== answers.length)
      throw new ClusterError(
        'submission_invalid',
        `Give one list of answers for each question: ${asked.questions.length} and not ${answers.length}.`,
      )
    // A question of a subagent is not in the log of this session: the worker passes the answer to the oldest
    // question.
    const callId = asked?.questionId
    const id = callId === undefined ? `question-${randomUUID()}` : `question-${callId}`
    const body = {
      kind: 'question',
      ...(callId !== undefined && { callId }),
      answers: answers.map((one) => [...one]),
    }
    await this.#post(runId, { id, body }, true)
  }

  /** Queues a dead or failed run again. */
  async redrive(runId: string): Promise<void> {
    if ((await this.get(runId)) === undefined) throw runNotFound(runId)
    if (!(await this.#queue.redrive(runId, this.#scope)))
      throw new ClusterError('run_ended', `The run '${runId}' is neither dead nor failed.`)
  }

  /** Returns the nodes, lanes and dead letters of the cluster; only for clients without a tenant. */
  async status(): Promise<ClusterStatus> {
    if (this.#scope.tenantId !== undefined)
      throw new ClusterError('run_not_found', 'A client of one tenant cannot see the state of the cluster.')
    return this.#queue.status()
  }

  async #post(runId: string, message: RunMessage, wakes: boolean): Promise<void> {
    const outcome = await this.#queue.post(runId, message, { ...this.#scope, wakes })
    if (outcome === 'ended') throw new ClusterError('run_ended', `The run '${runId}' has ended.`)
    if (outcome === 'known')
      throw new ClusterError('already_answered', 'Another answer is on its way to the run.')
  }

  async #open(runId: string): Promise<QueuedRun> {
    const run = await this.get(runId)
    if (run === undefined) throw runNotFound(runId)
    return run
  }

  async #questions({ runId, sessionId }: QueuedRun): Promise<ToolQuestion[]> {
    const state = await load(this.#store, sessionId)
    if (state === undefined) return []
    const family = familyOf(state, runId)
    const now = this.#now()
    return state.openQuestions.flatMap(({ question, refused }) => {
      const isOwn = question.runId !== undefined && family.has(question.runId)
      return isOwn && refused === undefined && !isExpired(question, now) ? [question] : []
    })
  }

  /**
   * A session of another tenant does not exist for this client. A worker also checks this before it runs anything.
   */
  async #checkSession(sessionId: string): Promise<void> {
    const { tenantId } = this.#scope
    const state = await load(this.#store, sessionId)
    const owner = state?.session?.labels?.['tenantId']
    const isOwn = state === undefined ? await this.#canCreate(sessionId) : owner === tenantId
    if (isOwn) return
    const hint = tenantId === undefined ? ` It belongs to the tenant '${owner}': submit as this tenant.` : ''
    throw new ClusterError('session_not_found', `There is no session '${sessionId}'.${hint}`)
  }

  /** Another tenant could predict the session id that follows from a key, and use it first. */
  async #canCreate(sessionId: string): Promise<boolean> {
    if (this.#scope.tenantId === undefined || !isDerivedSessionId(sessionId)) return true
    return (await this.list({ sessionId, limit: 1 })).runs.length > 0
  }
}
