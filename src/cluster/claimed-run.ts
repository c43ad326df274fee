import { isTerminal } from '../loop/events.js'
import type {
  LiveEvent,
  QueuedRun,
  QueueMember,
  RunClaim,
  RunMessage,
  Settlement,
} from '../run-queue/run-queue.js'
import { load, type RestoredSession } from '../session/journal/restore.js'
import { restoredEvents } from '../session/journal/restored-events.js'
import type { RunEvent } from '../session/run-events.js'
import type { Session } from '../session/session.js'
import type { RunRow } from '../store/records.js'
import { CapstanError, messageOf } from '../tool/errors.js'
import type { JsonValue } from '../tool/json.js'
import type { QuestionAnswers } from '../tool/session-services.js'
import { baseOf, chainOf, restartEvent } from './chain-events.js'
import { type OpenedRun, openRunSession } from './open-run-session.js'
import type { AnswerCheck, AnswerRefusal } from './signed-answer.js'
import { readRequestData } from './submission.js'
import type { WorkerOptions } from './worker-options.js'

/** The outcome of a claim. `lost`: another node has taken the run. `suspended`: it waits for a user. */
export type ClaimOutcome = Settlement['state'] | 'lost' | 'suspended'

export type ClaimedRunParts = {
  readonly options: WorkerOptions
  readonly member: QueueMember
  readonly claim: RunClaim
  readonly answers: AnswerCheck
  /** Reports an answer that was rejected. */
  refusedAnswer(reason: AnswerRefusal | 'not_asked'): void
}

const publishEveryMs = 10
const defaultSuspendAfterMs = 10_000
const defaultMaxTakeovers = 5

/** Executes one claimed run on its session: sends or resumes, publishes events, passes messages on, and settles. */
export class ClaimedRun {
  readonly #parts: ClaimedRunParts
  readonly #leaving = new AbortController()
  #session: Session | undefined
  /** The run in the log that is executed: the submitted one, or one that resumed it. */
  #runId: string
  #isLost = false
  #waitingSinceMs: number | undefined
  #isSuspended = false
  readonly #steered: string[] = []
  readonly #passedOn = new Set<string>()
  /** Questions of the model that wait for an answer, by call, oldest first. */
  readonly #questions = new Map<string, (answers: QuestionAnswers) => void>()
  /** The messages that answered calls which have not ended, by call. */
  readonly #answered = new Map<string, string>()
  #servicing: Promise<void> | undefined
  #nextService: Promise<void> | undefined

  constructor(parts: ClaimedRunParts) {
    this.#parts = parts
    this.#runId = parts.claim.run.runId
  }

  /** Resolves when the claim is settled or lost. Rejects when the queue or the store cannot be reached. */
  async execute(): Promise<ClaimOutcome> {
    const { options, claim } = this.#parts
    let opened: OpenedRun
    try {
      opened = await openRunSession(
        options,
        claim.run,
        (_, from, call) => this.#ask(call?.callId ?? `task ${from?.taskId}`),
        this.#leaving.signal,
      )
    } catch (error) {
      if (this.#leaving.signal.aborted) return this.#settle({ state: 'queued' })
      if (!isFinal(error)) throw error
      return this.#settle({ state: 'failed', error: { code: error.code, message: error.message } })
    }
    const { session, state } = opened
    this.#session = session
    try {
      const settlement = await this.#run(session, state)
      // The session must be released before its next run can be claimed.
      await this.#ended(session.close())
      if (this.#isLost) return 'lost'
      const outcome = await this.#settle(settlement)
      return outcome === 'waiting' ? 'suspended' : outcome
    } finally {
      await this.#ended(session.close())
    }
  }

  /** Waits for the end of a session. If the run is lost, another node writes its log, and this one cannot. */
  async #ended(ending: Promise<void>): Promise<void> {
    await ending.catch((error: unknown) => {
      if (!this.#isLost) throw error
    })
  }

  async #run(session: Session, state: RestoredSession | undefined): Promise<Settlement> {
    // The node began to stop while the session was being opened.
    if (this.#leaving.signal.aborted) return { state: 'queued' }
    return (await this.#progress(state)) ?? this.#perform(session, state)
  }

  /** Finishes the current round and returns the run to the queue. */
  async leave(deadlineMs: number): Promise<void> {
    this.#leaving.abort()
    // `execute` waits for the same end, and rejects if it fails: the other runs of the node can still leave.
    await this.#session?.passivate({ reason: 'The node is stopping.', deadlineMs }).catch(() => undefined)
  }

  /**
   * Checks the queue for messages to the run, a request to cancel, or the loss of the claim. Checks run one at a
   * time, so that no message is passed on or counted twice. A caller always waits for a check that begins after its
   * call.
   */
  service(): Promise<void> {
    if (this.#servicing !== undefined) {
      this.#nextService ??= this.#servicing
        // The caller of that check handles its error.
        .catch(() => undefined)
        .then(() => {
          this.#nextService = undefined
          return this.service()
        })
      return this.#nextService
    }
    this.#servicing = this.#service().finally(() => {
      this.#servicing = undefined
    })
    return this.#servicing
  }

  async #service(): Promise<void> {
    const { member, claim } = this.#parts
    const session = this.#session
    if (session === undefined || session.isClosed) return
    const inspected = await member.inspect(claim)
    if (inspected === undefined) {
      this.#isLost = true
      await this.#ended(session.suspend())
      return
    }
    if (inspected.cancelRequested) await session.cancelRun(this.#runId)
    await this.#passOn(session, inspected.messages)
    await this.#suspendIfWaiting(session)
  }

  async #suspendIfWaiting(session: Session): Promise<void> {
    const { options } = this.#parts
    const now = (options.now ?? Date.now)()
    if (this.#waitingSinceMs === undefined) return
    if (now - this.#waitingSinceMs < (options.suspendAfterMs ?? defaultSuspendAfterMs)) return
    // A message that the model has not read yet would wake the run at once.
    if (!session.isWaitingForUser() || this.#steered.length > 0) return
    this.#isSuspended = true
    await session.suspend()
  }

  /**
   * Compares the position of the log with that of the last claim. Returns the settlement of a run that makes no
   * progress.
   */
  async #progress(state: RestoredSession | undefined): Promise<Settlement | undefined> {
    const { member, claim, options } = this.#parts
    const { takeovers: before, position: known } = claim.run
    if (before === 0) return undefined
    const family = new Set(state && chainOf(state, claim.run.runId).map(({ id }) => id))
    const position =
      state?.messages.filter(({ row }) => row.runId !== undefined && family.has(row.runId)).length ?? 0
    const takeovers = position > known ? 0 : before
    if (takeovers >= (options.maxTakeovers ?? defaultMaxTakeovers)) {
      const message = `The run was taken over ${takeovers} times without progress.`
      return { state: 'dead', error: { code: 'too_many_takeovers', message } }
    }
    if (!(await member.mark(claim, { position, takeovers }))) this.#isLost = true
    return undefined
  }

  async #perform(session: Session, state: RestoredSession | undefined): Promise<Settlement> {
    const { run } = this.#parts.claim
    const chain = state === undefined ? [] : chainOf(state, run.runId)
    const last = chain.at(-1)
    const ended = last && endOf(last)
    if (ended !== undefined && !isRedriven(run, chain)) return ended
    if (run.cancelRequested && last === undefined) return { state: 'cancelled' }
    const result = last === undefined ? this.#send(session) : this.#resume(session, state, last, chain.length)
    try {
      await result
      return { state: 'completed' }
    } catch (error) {
      return this.#failed(session, error)
    }
  }

  async #send(session: Session): Promise<void> {
    const { run } = this.#parts.claim
    const { attachments, metadata } = readRequestData(run.request)
    const result = session.send({ prompt: run.prompt, runId: run.runId, attachments, metadata })
    // The rejection is handled by the wait below.
    result.catch(() => undefined)
    const published = this.#publish(session, run.runId, 0, [])
    await result.finally(() => published)
  }

  async #resume(
    session: Session,
    state: RestoredSession | undefined,
    last: RunRow,
    at: number,
  ): Promise<void> {
    // Reads an answer that arrived while no node had the run.
    await this.service()
    const before = state === undefined ? [] : restoredEvents(state, last)
    const restart = restartEvent(before, at, last.updatedAtMs)
    let published: Promise<void> | undefined
    const onStart = (runId: string): void => {
      this.#runId = runId
      published = this.#publish(session, runId, at, restart === undefined ? [] : [restart])
      if (this.#parts.claim.run.cancelRequested) void session.cancelRun(runId)
    }
    await session.resumeRun(last.id, { onStart }).finally(() => published)
  }

  /** Returns the settlement of a run that threw. A suspended run continues on another node. */
  async #failed(session: Session, error: unknown): Promise<Settlement> {
    const { store } = this.#parts.options
    const state = await load(store, session.sessionId)
    const last = state && chainOf(state, this.#parts.claim.run.runId).at(-1)
    const ended = last && endOf(last)
    if (ended !== undefined) return ended
    if (this.#isSuspended) return { state: 'waiting', ...wakeAt(state) }
    if (session.isClosed) return { state: 'queued' }
    const code = error instanceof CapstanError ? error.code : 'run_failed'
    return { state: 'failed', error: { code, message: messageOf(error) } }
  }

  /** Publishes the events of a run in batches, and handles those that the worker must react to. */
  async #publish(session: Session, runId: string, at: number, first: readonly RunEvent[]): Promise<void> {
    const base = baseOf(at)
    let waiting: LiveEvent[] = first.map(asLive)
    let timer: NodeJS.Timeout | undefined
    const flush = async (): Promise<void> => {
      clearTimeout(timer)
      timer = undefined
      const batch = waiting
      waiting = []
      const { member, claim, options } = this.#parts
      // Readers find unpublished events in the log.
      if (batch.length > 0)
        await member.publish(claim, batch).catch((error: unknown) => options.onError?.(error))
    }
    let last: Promise<void> = Promise.resolve()
    for await (const one of session.watch(runId)) {
      waiting.push(asLive({ ...one, sequence: base + one.sequence }))
      this.#notice(one)
      timer ??= setTimeout(() => {
        last = last.then(flush)
      }, publishEveryMs)
      if (isTerminal(one.event)) break
    }
    clearTimeout(timer)
    await last
    await flush()
  }

  #notice({ event }: RunEvent): void {
    const { options, member, claim } = this.#parts
    if (event.type === 'confirmation_required') {
      this.#waitingSinceMs ??= (options.now ?? Date.now)()
      this.#serviceSoon(options.suspendAfterMs ?? defaultSuspendAfterMs)
    } else if (event.type === 'confirmation_received' || event.type === 'turn_start') {
      this.#waitingSinceMs = undefined
    } else if (event.type === 'tool_end' && this.#waitingSinceMs !== undefined) this.#serviceSoon(0)
    const taken =
      event.type === 'steered'
        ? this.#steered.shift()
        : event.type === 'tool_end'
          ? this.#answered.get(event.toolId)
          : undefined
    if (taken !== undefined)
      void member.acknowledge(claim, [taken]).catch((error: unknown) => options.onError?.(error))
    if (event.type === 'turn_start') this.#serviceSoon(0)
  }

  #serviceSoon(delayMs: number): void {
    const timer = setTimeout(() => {
      this.service().catch((error: unknown) => this.#parts.options.onError?.(error))
    }, delayMs + 1)
    timer.unref()
  }

  async #passOn(session: Session, messages: readonly RunMessage[]): Promise<void> {
    const taken: string[] = []
    for (const message of messages) {
      const { id, body } = message
      if (this.#passedOn.has(id)) continue
      if (body['kind'] === 'steer') {
        if (!session.steer(String(body['text']))) continue
        this.#passedOn.add(id)
        this.#steered.push(id)
      } else if (body['kind'] === 'approval') {
        if (await this.#approve(session, message)) taken.push(id)
      } else if (body['kind'] === 'question') {
        this.#answerQuestion(message)
      } else taken.push(id)
    }
    if (taken.length > 0) await this.#parts.member.acknowledge(this.#parts.claim, taken)
  }

  /** Passes an approval on. True when the message is handled, false when its question has not been asked yet. */
  async #approve(session: Session, { body }: RunMessage): Promise<boolean> {
    const { answers, claim, options, refusedAnswer } = this.#parts
    const answer = answers.read(body, claim.run)
    if (typeof answer === 'string') {
      refusedAnswer(answer)
      return true
    }
    const { callId, key, askedAtMs, decision, message, by } = answer
    const state = await load(options.store, session.sessionId)
    const open = state?.openQuestions.find(({ question }) => question.callId === callId)
    const isSame = open?.question.key === key && open.question.askedAtMs === askedAtMs
    if (!isSame || open.refused !== undefined) {
      refusedAnswer('not_asked')
      return true
    }
    const pending = session.pendingConfirmations().find(({ toolId }) => toolId === callId)
    if (pending?.digest !== key) return false
    const isYes = decision !== 'reject'
    const isTaken = await session.confirmToolUse(callId, isYes, message, isYes ? decision : undefined, by)
    if (isTaken) answers.use(body)
    return isTaken
  }

  #ask(callId: string): Promise<QuestionAnswers> {
    const { suspendAfterMs = defaultSuspendAfterMs, now = Date.now } = this.#parts.options
    this.#waitingSinceMs ??= now()
    return new Promise((resolve) => {
      this.#questions.set(callId, resolve)
      // The answer may exist already, if the run was suspended or its node ended after the question.
      this.#serviceSoon(0)
      this.#serviceSoon(suspendAfterMs)
    })
  }

  /**
   * Answers a question of the model: that of the call, or the oldest. The message is acknowledged only after the call
   * has ended, because a node that takes over asks again.
   */
  #answerQuestion({ id, body: { callId, answers } }: RunMessage): void {
    const [oldest] = this.#questions.keys()
    const asked = typeof callId === 'string' ? callId : oldest
    const resolve = asked === undefined ? undefined : this.#questions.get(asked)
    if (asked === undefined || resolve === undefined) return
    this.#questions.delete(asked)
    if (this.#questions.size === 0) this.#waitingSinceMs = undefined
    this.#passedOn.add(id)
    this.#answered.set(asked, id)
    resolve({
      answers: (Array.isArray(answers) ? answers : []).map((one) =>
        Array.isArray(one) ? one.map(String) : [],
      ),
    })
  }

  async #settle(settlement: Settlement): Promise<ClaimOutcome> {
    const { member, claim } = this.#parts
    return (await member.settle(claim, settlement)) ? settlement.state : 'lost'
  }
}

function asLive({ sequence, timestampMs, event }: RunEvent): LiveEvent {
  // Events are plain data, but arguments of calls may not be; they are converted to JSON here.
  return { sequence, timestampMs, event: JSON.parse(JSON.stringify(event)) as JsonValue }
}

/** Returns the recorded end of a run; undefined for a run that can continue. */
function endOf({ status, error }: RunRow): Settlement | undefined {
  if (status === 'completed' || status === 'cancelled') return { state: status }
  if (status === 'failed') return { state: 'failed', error: { code: 'run_failed', message: error ?? '' } }
  return undefined
}

/**
 * Whether a failed run was queued again after its last failure. If not, its node ended after the failure and before
 * it could settle the run.
 */
function isRedriven({ redrives = 0 }: QueuedRun, chain: readonly RunRow[]): boolean {
  return (
    chain.at(-1)?.status === 'failed' && chain.filter(({ status }) => status === 'failed').length <= redrives
  )
}

/** Returns when the first question expires: then the model must be informed that no user answered. */
function wakeAt(state: RestoredSession | undefined): Pick<Settlement, 'wakeAtMs'> {
  const times = state?.openQuestions.flatMap(({ question: { expiresAtMs } }) => expiresAtMs ?? []) ?? []
  return times.length === 0 ? {} : { wakeAtMs: Math.min(...times) }
}

/** Whether every other node would get the same error: then the run fails with it. */
function isFinal(error: unknown): error is CapstanError {
  return (
    error instanceof CapstanError &&
    !error.code.startsWith('store_') &&
    error.code !== 'session_locked' &&
    error.code !== 'session_closed'
  )
}
