import { type AskAnswer, type AskHandler, type AskRequest, readAnswer, rejectionText } from '../loop/ask.js'
import type { AgentEvent } from '../loop/events.js'
import type { ToolQuestion } from '../store/records.js'
import { tryOr } from '../tool/errors.js'
import { type Lane, laneOfKind } from '../tool/lane.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { isExpired, waitingQuestions } from './journal/questions.js'
import type { SessionKernel } from './kernel.js'
import { pathsOf } from './tool-facts.js'

/** When calls wait for a confirmation, and for how long. */
export type ConfirmationPolicy = {
  /** Whether calls that need an approval wait for `confirmToolUse`. Without it and `onAsk`, they are refused. */
  readonly enabled?: boolean
  readonly defaultTimeoutMs?: number
  readonly timeoutAction?: 'reject' | 'auto_approve'
  /** Lanes whose calls are approved without asking: `query` reads and searches, `execute` does everything else. */
  readonly yoloLanes?: readonly Lane[]
}

/** A call that waits for a user's approval. */
export type PendingConfirmation = {
  readonly toolId: string
  readonly toolName: string
  readonly args: unknown
  readonly reasons: readonly string[]
  readonly request: AskRequest
  readonly remainingMs?: number
  /** What an approval is bound to: tool, arguments, workspace, session and agent. */
  readonly digest: string
  /**
   * Whether an earlier process asked this question: an approval is used once, when `resumeRun` makes exactly this call.
   */
  readonly fromBefore?: true
}

/** Saves questions, so that they outlive their process. */
export type SavedQuestions = {
  /** Records a question before the user is asked; undefined when it cannot outlive the process. */
  asked(request: AskRequest, expiresAtMs: number | undefined): Promise<void> | undefined
  refused(callId: string, message: string): void
  isSame(kept: ToolQuestion, request: AskRequest): boolean
}

export type ConfirmationOptions = {
  readonly policy: ConfirmationPolicy
  /** The host's handler. Calls that it is asked about can still be answered by `confirm`. */
  readonly onAsk?: AskHandler | undefined
  laneOf(toolName: string): Lane
  /** The real path of the workspace. */
  readonly root: string
  readonly kept?: SavedQuestions | undefined
  emit(event: AgentEvent): void
  now(): number
}

/** Creates the registry of calls that wait for an approval in a session. */
export function openConfirmations(kernel: SessionKernel): Confirmations {
  const { restored, log } = kernel
  const isResumed = restored !== undefined && log.recorder !== undefined
  return new Confirmations(
    new KernelOptions(kernel),
    isResumed ? waitingQuestions(restored, log.conversation) : [],
  )
}

/** The options of a session's confirmations. Copies nothing, because every waiting session has one. */
class KernelOptions implements ConfirmationOptions {
  readonly #kernel: SessionKernel

  constructor(kernel: SessionKernel) {
    this.#kernel = kernel
  }

  get policy(): ConfirmationPolicy {
    return this.#kernel.options.confirmationPolicy ?? {}
  }

  get onAsk(): AskHandler | undefined {
    return this.#kernel.options.onAsk
  }

  get root(): string {
    return this.#kernel.root
  }

  get kept(): SavedQuestions | undefined {
    return this.#kernel.log.recorder
  }

  get emit(): SessionKernel['emit'] {
    return this.#kernel.emit
  }

  laneOf(toolName: string): Lane {
    return laneOfKind(this.#kernel.tools.get(toolName)?.kind ?? 'other')
  }

  now(): number {
    return this.#kernel.now()
  }
}

const usualTimeoutMs = 30_000
const maxTimerMs = 2 ** 31 - 1

/**
 * The calls of a session that wait for an approval. Each is answered once: by `confirm`, by the host's handler, by its
 * timeout, or by the end of the session.
 */
export class Confirmations {
  readonly #options: ConfirmationOptions
  #waiting: Map<string, Waiting> | undefined
  /** The questions of earlier processes. */
  #before: Map<string, Before> | undefined

  /** `saved` are the questions that an earlier process left open. */
  constructor(options: ConfirmationOptions, saved: readonly ToolQuestion[] = []) {
    this.#options = options
    if (saved.length > 0) this.#before = new Map(saved.map((question) => [question.callId, { question }]))
  }

  /** Asks for the approval of a call and waits for the answer. */
  ask(request: AskRequest): ReturnType<AskHandler> {
    const { policy, emit, kept } = this.#options
    if (!request.inPerson && policy.yoloLanes?.includes(this.#options.laneOf(request.toolName)))
      return { decision: 'once' }
    const toolId = request.toolCallId ?? request.id
    const known = this.#takeSaved(toolId, request)
    if (known?.answer !== undefined) {
      received(emit, toolId, known.answer)
      if (known.answer.decision === 'reject') kept?.refused(toolId, rejectionText(known.answer))
      return known.answer
    }
    // Two calls with the same id could not be distinguished: an approval of one must not apply to the other.
    const twin = this.#waiting?.get(toolId)
    if (twin !== undefined) {
      const answer = refusal(`Two calls waited under the id '${toolId}'; both are refused.`)
      twin.settle(answer)
      return answer
    }
    const now = this.#options.now()
    const timeoutMs = this.#timeoutMs
    const endsAt = known?.question.expiresAtMs ?? (timeoutMs === undefined ? undefined : now + timeoutMs)
    // The process that asked first has already recorded it.
    const written = known === undefined ? kept?.asked(request, endsAt) : undefined
    if (written === undefined) return this.#wait(toolId, request, endsAt, now)
    return written.then(() => this.#wait(toolId, request, endsAt, this.#options.now()))
  }

  pending(): PendingConfirmation[] {
    const now = this.#options.now()
    return [
      ...this.#open().map(([, { question }]) => fromBefore(question, now)),
      ...[...(this.#waiting ?? [])].map(([toolId, { request, endsAt }]) => ({
        toolId,
        toolName: request.toolName,
        args: request.args,
        reasons: request.reasons,
        request,
        digest: request.key,
        ...(endsAt !== undefined && { remainingMs: Math.max(0, endsAt - now) }),
      })),
    ]
  }

  /** Answers a waiting call. Returns false when no call waits under this id. `decision` is the scope of an approval. */
  confirm(
    toolId: string,
    approved: boolean,
    reason?: string,
    decision: AskAnswer['decision'] = 'once',
    by?: string,
  ): boolean {
    const answer: AskAnswer = {
      decision: approved ? decision : 'reject',
      ...omitUndefined({ message: reason, by }),
    }
    const one = this.#waiting?.get(toolId)
    if (one !== undefined) {
      received(this.#options.emit, toolId, answer)
      one.settle(answer)
      return true
    }
    const earlier = this.#open().find(([id]) => id === toolId)?.[1]
    if (earlier === undefined) return false
    // The rules that an approval with a wider scope would add were not shown here.
    earlier.answer = approved ? { ...answer, decision: 'once' } : answer
    return true
  }

  /** Rejects a question whose asker no longer waits. */
  withdraw(toolId: string, reason: string): void {
    this.#waiting?.get(toolId)?.settle(refusal(reason))
  }

  /** Rejects all waiting calls, and returns their number. */
  cancelAll(reason: string): number {
    const all = [...(this.#waiting?.values() ?? [])]
    for (const one of all) one.settle(refusal(reason))
    return all.length
  }

  /** Refuses questions of earlier processes: their calls are refused when they are made. */
  refuseSaved(reason: string): number {
    const all = this.#open()
    for (const [, one] of all) one.answer = refusal(reason)
    return all.length
  }

  /** Drops the questions of earlier processes, because their calls were answered in another way. */
  forgetSaved(): void {
    this.#before = undefined
  }

  get #timeoutMs(): number | undefined {
    const { enabled, defaultTimeoutMs } = this.#options.policy
    return enabled ? (defaultTimeoutMs ?? usualTimeoutMs) : defaultTimeoutMs
  }

  #wait(toolId: string, request: AskRequest, endsAt: number | undefined, now: number): Promise<AskAnswer> {
    const { policy, onAsk, emit, kept, root } = this.#options
    this.#waiting ??= new Map()
    const waiting = this.#waiting
    return new Promise<AskAnswer>((resolve, reject) => {
      let timer: ReturnType<typeof setTimeout> | undefined
      const settle = (answer: AskAnswer): void => {
        clearTimeout(timer)
        waiting.delete(toolId)
        if (!readAnswer(answer).approved) kept?.refused(toolId, rejectionText(answer))
        resolve(answer)
      }
      const own: Waiting = { request, settle, ...omitUndefined({ endsAt }) }
      waiting.set(toolId, own)
      const leftMs = endsAt === undefined ? undefined : Math.max(0, endsAt - now)
      // A timer cannot wait longer; a longer limit is treated as no limit.
      if (leftMs !== undefined && leftMs <= maxTimerMs)
        timer = setTimeout(() => {
          const approve = policy.timeoutAction === 'auto_approve' && !request.inPerson
          emit({ type: 'confirmation_timeout', toolId, actionTaken: approve ? 'auto_approved' : 'rejected' })
          const text = `The call was not confirmed within ${this.#timeoutMs ?? leftMs} ms, so it was refused.`
          settle(approve ? { decision: 'once' } : refusal(text))
        }, leftMs)
      const paths = pathsOf(request.subjects, root)
      emit({
        type: 'confirmation_required',
        toolId,
        toolName: request.toolName,
        args: request.args,
        reasons: request.reasons,
        ...omitUndefined({ timeoutMs: leftMs, suggestion: request.suggestion }),
        ...(paths.length > 0 && { paths }),
      })
      if (onAsk === undefined) return
      askHost(onAsk, request).then(
        (answer) => {
          // A later call may wait under the same id by now: this answer does not apply to it.
          if (waiting.get(toolId) !== own) return
          received(emit, toolId, answer)
          settle(answer)
        },
        (error: unknown) => {
          if (waiting.get(toolId) !== own) return
          clearTimeout(timer)
          waiting.delete(toolId)
          reject(error)
        },
      )
    })
  }

  /**
   * Returns the saved question of an earlier process for this call, with an answer given since. Removes it in any case.
   */
  #takeSaved(toolId: string, request: AskRequest): Before | undefined {
    const one = this.#before?.get(toolId)
    this.#before?.delete(toolId)
    if (one === undefined || isExpired(one.question, this.#options.now())) return undefined
    return this.#options.kept?.isSame(one.question, request) ? one : undefined
  }

  /** Returns the questions of earlier processes that still wait for an answer. */
  #open(): [string, Before][] {
    return [...(this.#before ?? [])].filter(
      ([, { question, answer }]) => answer === undefined && !isExpired(question, this.#options.now()),
    )
  }
}

type Waiting = {
  readonly request: AskRequest
  readonly endsAt?: number
  settle(answer: AskAnswer): void
}

/** A question of an earlier process. Only an answer in this process counts: no record in a log is an approval. */
type Before = { readonly question: ToolQuestion; answer?: AskAnswer }

/** Creates a rejection that no user gave. */
function refusal(message: string): AskAnswer {
  return { decision: 'reject', message, automatic: true }
}

function fromBefore(question: ToolQuestion, now: number): PendingConfirmation {
  const { callId, toolName, reasons, notes, key, expiresAtMs } = question
  const args = argsIn(question)
  return {
    toolId: callId,
    toolName,
    args,
    reasons,
    request: { id: callId, toolCallId: callId, key, toolName, args, subjects: [], reasons, rules: [], notes },
    digest: key,
    fromBefore: true,
    ...(expiresAtMs !== undefined && { remainingMs: Math.max(0, expiresAtMs - now) }),
  }
}

/** Parses the arguments of a question. Long ones were cut off and are not valid JSON; they are returned as text. */
function argsIn({ args }: ToolQuestion): unknown {
  return tryOr(() => JSON.parse(args), args)
}

async function askHost(onAsk: AskHandler, request: AskRequest): Promise<AskAnswer> {
  return onAsk(request)
}

/** Emits the answer of a host: only an explicit yes is emitted as an approval. */
function received(emit: (event: AgentEvent) => void, toolId: string, answer: AskAnswer): void {
  const { approved, keep, message } = readAnswer(answer)
  emit({
    type: 'confirmation_received',
    toolId,
    approved,
    decision: approved ? (keep ?? 'once') : 'reject',
    ...omitUndefined({ reason: message, by: typeof answer?.by === 'string' ? answer.by : undefined }),
  })
}
