import { randomUUID } from 'node:crypto'
import type { BudgetDecision, BudgetGuard } from '../loop/budget.js'
import type { QueuedRun, RunQueue } from '../run-queue/run-queue.js'
import type { TenantQuota, TenantQuotas } from './worker-options.js'

/**
 * A budget guard that counts what a tenant uses in the whole cluster and denies requests beyond its quota. A queue that
 * cannot be asked denies too. Undefined when the run has no quota and there is no other guard.
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
  const counter = (): string => `tenant/${tenantId}/${periodOf(now(), quotas?.period ?? 'day')}`
  return {
    ...inner,
    onError: 'deny',
    checkBeforeTool: (sessionId, toolName) => inner?.checkBeforeTool?.(sessionId, toolName),
    async checkBeforeLlm(sessionId, estimatedTokens): Promise<BudgetDecision> {
      const used = await queue.count(counter())
      const over = overrun(used, quota)
      if (over !== undefined)
        return { decision: 'deny', resource: over, reason: 'the quota of the tenant is used up' }
      return inner?.checkBeforeLlm?.(sessionId, estimatedTokens)
    },
    async recordAfterLlm(sessionId, usage): Promise<void> {
      const add = { id: randomUUID(), tokens: usage.totalTokens, costUsd: usage.costUsd ?? 0 }
      await queue.count(counter(), add)
      await inner?.recordAfterLlm?.(sessionId, usage)
    },
  }
}

function quotaOf(
  tier: string | undefined,
  { default: fallback, tiers }: TenantQuotas,
): TenantQuota | undefined {
  return tier !== undefined && tiers !== undefined && Object.hasOwn(tiers, tier) ? tiers[tier] : fallback
}

function overrun(
  used: { readonly tokens: number; readonly costUsd: number },
  { tokens, costUsd }: TenantQuota,
): 'tenant_tokens' | 'tenant_cost' | undefined {
  if (tokens !== undefined && used.tokens >= tokens) return 'tenant_tokens'
  return costUsd !== undefined && used.costUsd >= costUsd ? 'tenant_cost' : undefined
}

function periodOf(ms: number, period: 'day' | 'month'): string {
  return new Date(ms).toISOString().slice(0, period === 'day' ? 10 : 7)
}
