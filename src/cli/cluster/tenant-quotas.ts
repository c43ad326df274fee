import type { TenantQuota, TenantQuotas } from '../../cluster/worker-options.js'
import type { Args } from '../args.js'
import type { OptionSpec } from '../command.js'
import { UsageError } from '../errors.js'
import { readBudget } from '../setup/budget.js'

export const tenantQuotaFlags: readonly OptionSpec[] = [
  {
    name: 'tenant-quota',
    value: 'amount',
    repeatable: true,
    summary: 'What a tenant can use in a period: 200k tokens, or 5usd',
  },
  {
    name: 'tier-quota',
    value: 'tier=amount',
    repeatable: true,
    summary: 'Another amount for tenants of this tier',
  },
  { name: 'quota-period', value: 'day|month', summary: 'The period of quotas, in UTC (default: day)' },
]

/** Reads the quotas of tenants; undefined without any. */
export function tenantQuotasOf(args: Args): TenantQuotas | undefined {
  const period = args.value('quota-period') ?? 'day'
  if (period !== 'day' && period !== 'month')
    throw new UsageError(`--quota-period takes day or month, not ${JSON.stringify(period)}.`)
  const tenants = args.values('tenant-quota')
  const tiers = new Map<string, string[]>()
  for (const text of args.values('tier-quota')) {
    const [, tier, amount] = /^([\w.-]+)=(.+)$/s.exec(text) ?? []
    if (tier === undefined || amount === undefined)
      throw new UsageError(`--tier-quota takes TIER=AMOUNT, not ${JSON.stringify(text)}.`)
    tiers.set(tier, [...(tiers.get(tier) ?? []), amount])
  }
  if (tenants.length === 0 && tiers.size === 0) return undefined
  return {
    period,
    default: tenants.length === 0 ? undefined : quotaOf('tenant-quota', tenants),
    tiers: Object.fromEntries(
      [...tiers].map(([tier, texts]) => [tier, quotaOf('tier-quota', texts, '--tier-quota TIER=')]),
    ),
  }
}

/** Whether a quota is in dollars. Such a quota has an effect only for models with a known price. */
export function hasCostQuota({ default: fallback, tiers = {} }: TenantQuotas): boolean {
  return [fallback, ...Object.values(tiers)].some((quota) => quota?.costUsd !== undefined)
}

function quotaOf(option: string, texts: readonly string[], prefix?: string): TenantQuota {
  const amounts = texts.map((text) => readBudget(text, option, prefix))
  const limit = (unit: 'tokens' | 'usd'): number | undefined =>
    amounts.findLast((one) => one.unit === unit)?.limit
  return { tokens: limit('tokens'), costUsd: limit('usd') }
}
