import { randomUUID } from 'node:crypto'
import type { BudgetDecision, BudgetGuard, BudgetRequest } from '../loop/budget.js'
import { costOf } from '../model/usage.js'
import { tenantCounter } from '../run-queue/counter-period.js'
import { type CounterTotals, isReached, type QueuedRun, type RunQueue } from '../run-queue/run-queue.js'
import type { TenantQuota, TenantQuotas } from './worker-options.js'

/**
 * A budget guard that counts what a tenant uses in the whole cluster and denies requests beyond its quota. Undefined
 * when the run has no quota and there is no other guard.
 *
 * A request is counted before it is sent, with what it will probably use, in the same step that checks the quota: of
 * many requests at the same time, none begins after the quota is used up. When it has ended, the count is corrected.
 * What a process that was killed had counted stays counted, because its requests were probably answered. A queue that
 * cannot be asked denies the request.
 */
export function tenantGuard(
  { tenantId, tier }: Pick<QueuedRun, 'tenantId' | 'tier'>,
  quotas: TenantQuotas | undefined,
  queue: RunQueue,
  now: () => number,
  inner: BudgetGuard | undefined,
): BudgetGuard | undefined {
  const quota = quotas && quotaOf(tier, quotas)
  if (tenantId === undefined || quota === undefined) return inner
  const counts = new WeakMap<object, Counted>()

  const reserve = async (
    estimatedTokens: number,
    request: BudgetRequest,
  ): Promise<CounterTotals | undefined> => {
    const name = tenantCounter(tenantId, now(), quotas?.period ?? 'day')
    const expected = expectedOf(estimatedTokens, request)
    const reserving = queue.reserve(name, { id: randomUUID(), ...expected }, quota)
    counts.set(request, { name, expected, reserving: reserving.then(({ isReserved }) => isReserved) })
    const { isReserved, totals } = await reserving
    return isReserved ? undefined : totals
  }

  /** Replaces what was counted for a request by what it used. */
  const correct = async (request: BudgetRequest | undefined, used: CounterTotals): Promise<void> => {
    const counted = request && counts.get(request)
    if (request === undefined || counted === undefined) return
    counts.delete(request)
    // A request that was cancelled meanwhile may still be counted.
    if (!(await counted.reserving)) return
    const tokens = used.tokens - counted.expected.tokens
    const costUsd = used.costUsd - counted.expected.costUsd
    await queue.count(counted.name, { id: randomUUID(), tokens, costUsd })
  }

  return {
    ...inner,
    onError: 'deny',
    checkBeforeTool: (sessionId, toolName) => inner?.checkBeforeTool?.(sessionId, toolName),
    async checkBeforeLlm(sessionId, estimatedTokens, request = unknownRequest()): Promise<BudgetDecision> {
      if (quota.costUsd !== undefined && request.price === undefined) return unpriced(request.model)
      const full = await reserve(estimatedTokens, request)
      if (full !== undefined) return usedUp(full, quota)
      const decision = await inner?.checkBeforeLlm?.(sessionId, estimatedTokens, request)
      if (decision?.decision === 'deny') await correct(request, nothing)
      return decision
    },
    async recordAfterLlm(sessionId, usage, request): Promise<void> {
      await correct(request, { tokens: usage.totalTokens, costUsd: usage.costUsd ?? 0 })
      await inner?.recordAfterLlm?.(sessionId, usage, request)
    },
    async abandonLlm(sessionId, estimatedTokens, request): Promise<void> {
      await correct(request, request === undefined ? nothing : sentOf(estimatedTokens, request))
      await inner?.abandonLlm?.(sessionId, estimatedTokens, request)
    },
  }
}

/** What was reserved for a request before it was sent, and whether the counter accepted it. */
type Counted = {
  readonly name: string
  readonly expected: CounterTotals
  readonly reserving: Promise<boolean>
}

/** The number of output tokens assumed for a request that sets no limit. */
const expectedAnswerTokens = 4_096
const nothing: CounterTotals = { tokens: 0, costUsd: 0 }

function unknownRequest(): BudgetRequest {
  return { model: 'unknown' }
}

function expectedOf(inputTokens: number, request: BudgetRequest): CounterTotals {
  return amountOf(inputTokens, request.maxTokens ?? expectedAnswerTokens, request)
}

function sentOf(inputTokens: number, request: BudgetRequest): CounterTotals {
  return amountOf(inputTokens, 0, request)
}

function amountOf(inputTokens: number, outputTokens: number, { price }: BudgetRequest): CounterTotals {
  const totalTokens = inputTokens + outputTokens
  const costUsd = price === undefined ? 0 : costOf({ inputTokens, outputTokens, totalTokens }, price)
  return { tokens: totalTokens, costUsd }
}

function usedUp(totals: CounterTotals, { tokens }: TenantQuota): BudgetDecision {
  const resource = isReached(totals, { tokens }) ? 'tenant_tokens' : 'tenant_cost'
  return { decision: 'deny', resource, reason: 'the quota of the tenant is used up' }
}

function unpriced(model: string): BudgetDecision {
  const reason = `the quota of the tenant is in dollars, and the price of the model '${model}' is not known: declare its cost, or give the quota in tokens`
  return { decision: 'deny', resource: 'tenant_cost', reason }
}

function quotaOf(
  tier: string | undefined,
  { default: fallback, tiers }: TenantQuotas,
): TenantQuota | undefined {
  return tier !== undefined && tiers !== undefined && Object.hasOwn(tiers, tier) ? tiers[tier] : fallback
}
