import type { ClusterConfig, TenantConfig } from '../agent/config/config.js'
import type { RunRetention } from '../run-queue/run-queue.js'
import type { TenantQuota, WorkerOptions } from './worker-options.js'

const dayMs = 86_400_000
const defaultRetention: RunRetention = { maxAgeMs: 30 * dayMs, maxRuns: 100_000 }

/** The limits of a worker: those of its options, else those of the configuration of its agent. */
export function workerLimits(
  given: Pick<WorkerOptions, 'tenantLimits' | 'tenantQuotas' | 'retention'>,
  config: ClusterConfig | undefined,
) {
  return {
    tenantLimits: given.tenantLimits ?? (config && limitsIn(config)),
    tenantQuotas: given.tenantQuotas ?? (config && quotasIn(config)),
    retention: retentionOf(given.retention, config?.retention),
  }
}

function limitsIn({ tenant, tiers }: ClusterConfig): WorkerOptions['tenantLimits'] {
  const limits = Object.entries(tiers ?? {}).flatMap(([name, { maxActiveRuns }]) =>
    maxActiveRuns === undefined ? [] : [[name, maxActiveRuns] as const],
  )
  if (tenant?.maxActiveRuns === undefined && limits.length === 0) return undefined
  return { default: tenant?.maxActiveRuns, tiers: Object.fromEntries(limits) }
}

/** A tier inherits the values for all tenants that it does not override. */
function quotasIn({ tenant = {}, tiers = {}, quotaPeriod }: ClusterConfig): WorkerOptions['tenantQuotas'] {
  const all = quotaIn(tenant)
  const ofTiers = Object.entries(tiers).flatMap(([name, tier]) => {
    const quota = quotaIn({ ...tenant, ...tier })
    return quota === undefined ? [] : [[name, quota] as const]
  })
  if (all === undefined && ofTiers.length === 0) return undefined
  return { period: quotaPeriod, default: all, tiers: Object.fromEntries(ofTiers) }
}

function quotaIn({ maxTokens: tokens, maxCostUsd: costUsd }: TenantConfig): TenantQuota | undefined {
  return tokens === undefined && costUsd === undefined ? undefined : { tokens, costUsd }
}

function retentionOf(
  given: WorkerOptions['retention'],
  { maxAgeDays, maxRuns }: NonNullable<ClusterConfig['retention']> = {},
): RunRetention {
  const configured = maxAgeDays === undefined ? undefined : maxAgeDays * dayMs
  return {
    maxAgeMs: given?.maxAgeMs ?? configured ?? defaultRetention.maxAgeMs,
    maxRuns: given?.maxRuns ?? maxRuns ?? defaultRetention.maxRuns,
  }
}
