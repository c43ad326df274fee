import type { ModelPrice } from '../model/model.js'
import { messageOf } from '../tool/errors.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { BudgetExhaustedError } from './errors.js'
import type { AgentEvent } from './events.js'
import { snakeUsage, type Usage } from './usage.js'

/** The answer of a budget guard: allow, warn (`soft`) or deny. */
export type BudgetDecision =
  | { readonly decision: 'allow' }
  | {
      readonly decision: 'soft'
      readonly resource: string
      readonly consumed: number
      readonly limit: number
      readonly message?: string | undefined
    }
  | { readonly decision: 'deny'; readonly resource?: string; readonly reason?: string }
  | null
  | undefined
  // A callback that only counts returns nothing.
  | void

/** Usage as a guard gets it, in both spellings. */
export type GuardUsage = Usage & {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
  readonly cache_read_tokens: number
  readonly cache_write_tokens: number
  /** Absent when the model's price is not known. */
  readonly costUsd?: number | undefined
}

/** A request to a model. A guard gets the same object before the request and after its end. */
export type BudgetRequest = {
  /** `provider/model`. */
  readonly model: string
  /** Absent when the model's price is not known. */
  readonly price?: ModelPrice | undefined
  /** The output limit of the request; absent when it sets none. */
  readonly maxTokens?: number | undefined
}

/** Decides what a session can spend. Every method is optional, and can be async. */
export interface BudgetGuard {
  checkBeforeLlm?(
    sessionId: string,
    estimatedTokens: number,
    request?: BudgetRequest,
  ): BudgetDecision | Promise<BudgetDecision>
  recordAfterLlm?(sessionId: string, usage: GuardUsage, request?: BudgetRequest): void | Promise<void>
  /**
   * Called in place of `recordAfterLlm` when a request has no answer: it was denied, has failed, or was cancelled.
   * `estimatedTokens` is 0 unless the model had started to answer.
   */
  abandonLlm?(sessionId: string, estimatedTokens: number, request?: BudgetRequest): void | Promise<void>
  checkBeforeTool?(sessionId: string, toolName: string): BudgetDecision | Promise<BudgetDecision>
  /** The time limit of a check, in milliseconds. */
  readonly timeoutMs?: number | undefined
  /** The decision when the guard itself fails. By default the call is allowed and the failure reported. */
  readonly onError?: 'allow' | 'deny' | undefined
}

export interface Budget {
  /**
   * Rejects with {@link BudgetExhaustedError}. Returns undefined, like the other methods, when no guard is set, so
   * that the caller does not have to await.
   */
  beforeModel(estimatedTokens: number, request: BudgetRequest): Promise<void> | undefined
  afterModel(usage: Usage, costUsd: number | undefined, request: BudgetRequest): Promise<void> | undefined
  /** The request has no answer. `estimatedTokens`: what it may have cost anyway. */
  abandoned(estimatedTokens: number, request: BudgetRequest): Promise<void> | undefined
  /** Returns the reason when the tool must not be called. */
  beforeTool(toolName: string): Promise<string | undefined> | undefined
}

/** Creates the budget of a session from the host's guard, which is read at every call: a host may replace it. */
export function createBudget(
  guard: () => BudgetGuard | undefined,
  sessionId: string,
  emit: (event: AgentEvent) => void,
): Budget {
  /** Returns the refusal, or undefined when the call is allowed. */
  const judge = async (
    now: BudgetGuard,
    asked: (guard: BudgetGuard) => BudgetDecision | Promise<BudgetDecision>,
  ): Promise<{ resource: string; reason: string } | undefined> => {
    let decision: BudgetDecision
    try {
      decision = await inTime(asked(now), now.timeoutMs ?? guardTimeoutMs)
      assertDecision(decision)
    } catch (error) {
      emit({ type: 'notice', source: 'budget', message: `The budget guard failed: ${messageOf(error)}` })
      return now.onError === 'deny' ? { resource: 'budget_guard_error', reason: messageOf(error) } : undefined
    }
    if (!decision || decision.decision === 'allow') return undefined
    if (decision.decision === 'soft') {
      const { resource, consumed, limit, message } = decision
      emit({
        type: 'budget_threshold_hit',
        resource,
        kind: 'soft',
        consumed,
        limit,
        ...(message && { message }),
      })
      return undefined
    }
    const { resource = 'unspecified', reason = 'denied by host' } = decision
    emit({ type: 'budget_threshold_hit', resource, kind: 'hard', message: reason })
    return { resource, reason }
  }
  const allowModel = async (
    now: BudgetGuard,
    estimatedTokens: number,
    request: BudgetRequest,
  ): Promise<void> => {
    const refusal = await judge(now, (one) => one.checkBeforeLlm?.(sessionId, estimatedTokens, request))
    if (refusal !== undefined) throw new BudgetExhaustedError(refusal.resource, refusal.reason)
  }
  const allowTool = async (now: BudgetGuard, toolName: string): Promise<string | undefined> => {
    const refusal = await judge(now, (one) => one.checkBeforeTool?.(sessionId, toolName))
    return refusal && `Budget exhausted on '${refusal.resource}': ${refusal.reason}`
  }
  const report = async (
    now: BudgetGuard,
    reported: (guard: BudgetGuard) => void | Promise<void>,
  ): Promise<void> => {
    try {
      await inTime(reported(now), now.timeoutMs ?? guardTimeoutMs)
    } catch (error) {
      emit({ type: 'notice', source: 'budget', message: `The budget guard failed: ${messageOf(error)}` })
    }
  }
  return {
    beforeModel(estimatedTokens, request) {
      const now = guard()
      return now && allowModel(now, estimatedTokens, request)
    },
    afterModel(usage, costUsd, request) {
      const now = guard()
      return now && report(now, (one) => one.recordAfterLlm?.(sessionId, guardUsage(usage, costUsd), request))
    },
    abandoned(estimatedTokens, request) {
      const now = guard()
      return now && report(now, (one) => one.abandonLlm?.(sessionId, estimatedTokens, request))
    },
    beforeTool(toolName) {
      const now = guard()
      return now && allowTool(now, toolName)
    },
  }
}

const guardTimeoutMs = 5_000
const maxTimerMs = 2 ** 31 - 1

async function inTime<Answer>(answer: Answer | Promise<Answer>, timeoutMs: number): Promise<Answer> {
  if (!(answer instanceof Promise)) return answer
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    const late = (): void => reject(new Error(`it did not answer within ${timeoutMs} ms`))
    timer = setTimeout(late, Math.min(timeoutMs, maxTimerMs))
  })
  try {
    return await Promise.race([answer, late])
  } finally {
    clearTimeout(timer)
  }
}

function assertDecision(decision: unknown): void {
  if (decision === null || decision === undefined) return
  const given = typeof decision === 'object' ? (decision as { decision?: unknown }).decision : decision
  if (given !== 'allow' && given !== 'soft' && given !== 'deny')
    throw new TypeError(`it answered ${JSON.stringify(given)} instead of "allow", "soft" or "deny"`)
}

function guardUsage(usage: Usage, costUsd: number | undefined): GuardUsage {
  return {
    ...usage,
    ...snakeUsage(usage),
    ...omitUndefined({ costUsd }),
  }
}
