import { type AskAnswer, type AskHandler, type AskRequest, readAnswer } from '../loop/ask.js'
import type { AgentEvent } from '../loop/events.js'

export type ConfirmationPolicy = {
  /** Whether calls that must be asked about wait for `confirmToolUse`. Without it, and without `onAsk`, they are refused. */
  readonly enabled?: boolean
  readonly defaultTimeoutMs?: number
  readonly timeoutAction?: 'reject' | 'auto_approve'
  /** Lanes whose calls are approved without asking: `query` reads and searches, `execute` does everything else. */
  readonly yoloLanes?: readonly Lane[]
}
export type Lane = 'control' | 'query' | 'execute' | 'generate'

/** A call that waits for a person. */
export type PendingConfirmation = {
  readonly toolId: string
  readonly toolName: string
  readonly args: unknown
  readonly reasons: readonly string[]
  readonly request: AskRequest
  readonly remainingMs?: number
}

export interface Confirmations {
  /** Puts a call before whoever decides, and waits. */
  readonly ask: AskHandler
  pending(): PendingConfirmation[]
  /** False when no call waits under this id. `decision` says how far a yes reaches. */
  confirm(toolId: string, approved: boolean, reason?: string, decision?: AskAnswer['decision']): boolean
  /** Rejects all that wait, and says how many. */
  cancelAll(reason: string): number
}

export type ConfirmationOptions = {
  readonly policy: ConfirmationPolicy
  /** Decides by itself; the calls it is asked about can still be answered by `confirm`. */
  readonly onAsk?: AskHandler
  readonly laneOf: (toolName: string) => Lane
  emit(event: AgentEvent): void
  now(): number
}

const defaultTimeoutMs = 30_000
const longestTimer = 2 ** 31 - 1

/** Keeps the calls that wait for a yes. Each is answered once: by `confirm`, by the host's handler, by its time-out, or by the end. */
export function createConfirmations(options: ConfirmationOptions): Confirmations {
  const { policy, onAsk, emit } = options
  const waiting = new Map<string, Waiting>()
  const timeoutMs = policy.enabled ? (policy.defaultTimeoutMs ?? defaultTimeoutMs) : policy.defaultTimeoutMs

  const ask: AskHandler = (request) => {
    if (policy.yoloLanes?.includes(options.laneOf(request.toolName))) return { decision: 'once' }
    const toolId = request.toolCallId ?? request.id
    // Two calls under one id could not be told apart: a yes meant for one must not reach the other.
    const twin = waiting.get(toolId)
    if (twin !== undefined) {
      twin.settle({
        decision: 'reject',
        message: `Two calls waited under the id '${toolId}'; both are refused.`,
      })
      return { decision: 'reject', message: `Two calls waited under the id '${toolId}'; both are refused.` }
    }
    return new Promise<AskAnswer>((resolve, reject) => {
      let timer: ReturnType<typeof setTimeout> | undefined
      const settle = (answer: AskAnswer): void => {
        clearTimeout(timer)
        waiting.delete(toolId)
        resolve(answer)
      }
      const own: Waiting = {
        request,
        settle,
        ...(timeoutMs !== undefined && { endsAt: options.now() + timeoutMs }),
      }
      waiting.set(toolId, own)
      // A timer takes no more than that; longer is as good as no limit.
      if (timeoutMs !== undefined && timeoutMs <= longestTimer)
        timer = setTimeout(() => {
          const approve = policy.timeoutAction === 'auto_approve'
          emit({ type: 'confirmation_timeout', toolId, actionTaken: approve ? 'auto_approved' : 'rejected' })
          settle(
            approve
              ? { decision: 'once' }
              : {
                  decision: 'reject',
                  message: `Nobody confirmed the call within ${timeoutMs} ms, so it was refused.`,
                },
          )
        }, timeoutMs)
      emit({
        type: 'confirmation_required',
        toolId,
        toolName: request.toolName,
        args: request.args,
        reasons: request.reasons,
        ...(timeoutMs !== undefined && { timeoutMs }),
      })
      if (onAsk === undefined) return
      askHost(onAsk, request).then(
        (answer) => {
          // Under the same id a later call may wait by now: this answer is not for that one.
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

  return {
    ask,
    pending: () =>
      [...waiting].map(([toolId, { request, endsAt }]) => ({
        toolId,
        toolName: request.toolName,
        args: request.args,
        reasons: request.reasons,
        request,
        ...(endsAt !== undefined && { remainingMs: Math.max(0, endsAt - options.now()) }),
      })),
    confirm(toolId, approved, reason, decision = 'once') {
      const one = waiting.get(toolId)
      if (one === undefined) return false
      const answer: AskAnswer = {
        decision: approved ? decision : 'reject',
        ...(reason !== undefined && { message: reason }),
      }
      received(emit, toolId, answer)
      one.settle(answer)
      return true
    },
    cancelAll(reason) {
      const all = [...waiting.values()]
      for (const one of all) one.settle({ decision: 'reject', message: reason })
      return all.length
    },
  }
}

type Waiting = {
  readonly request: AskRequest
  readonly endsAt?: number
  settle(answer: AskAnswer): void
}

async function askHost(onAsk: AskHandler, request: AskRequest): Promise<AskAnswer> {
  return onAsk(request)
}

/** What a host answers need not be an answer: only a clear yes is told as one. */
function received(emit: (event: AgentEvent) => void, toolId: string, answer: AskAnswer): void {
  const { approved, message } = readAnswer(answer)
  emit({
    type: 'confirmation_received',
    toolId,
    approved,
    ...(message !== undefined && { reason: message }),
  })
}
