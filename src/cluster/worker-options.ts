import type { Agent } from '../agent/agent.js'
import type { RunQueue, RunRetention, TenantLimits } from '../run-queue/run-queue.js'
import type { SessionOptions } from '../session/options.js'
import type { SessionStore } from '../store/session-store.js'
import type { ClusterKey } from './signed-answer.js'

/** The quota of a tenant in a period. Absent: no limit. */
export type TenantQuota = {
  readonly tokens?: number | undefined
  readonly costUsd?: number | undefined
}

/** The quotas of tenants, counted in the whole cluster. */
export type TenantQuotas = {
  /** The period of the counters, in UTC. Default: `day`. */
  readonly period?: 'day' | 'month' | undefined
  readonly default?: TenantQuota | undefined
  readonly tiers?: Readonly<Record<string, TenantQuota>> | undefined
}

/** The options of a {@link Worker}. */
export type WorkerOptions = {
  /** The agent with the model, the rules and the tools. A submission can only restrict them. */
  readonly agent: Agent
  readonly store: SessionStore
  readonly queue: RunQueue
  /** The directories that runs can work in, by name. The first one is the default. */
  readonly workspaces: Readonly<Record<string, string>>
  /** The maximum number of active runs on this worker. Default: 4. */
  readonly slots?: number | undefined
  /** The lanes that the worker serves. Default: `default`. */
  readonly lanes?: readonly string[] | undefined
  /** The maximum number of active runs of one tenant in the cluster. All workers must have the same limits. */
  readonly tenantLimits?: TenantLimits | undefined
  /** The quotas of tenants. Default, as for `tenantLimits`: the block `cluster` of the agent's configuration. */
  readonly tenantQuotas?: TenantQuotas | undefined
  /** How long the queue stores runs that have ended. Default: 30 days and 100,000 runs. */
  readonly retention?: { readonly [Limit in keyof RunRetention]?: number | undefined } | undefined
  /** Options of every session. */
  readonly session?: SessionOptions | undefined
  /** The key that checks answers to approvals; see `RunClientOptions.clusterKey`. */
  readonly clusterKey?: ClusterKey | undefined
  /** The display name of this node. Default: the host name. */
  readonly name?: string | undefined
  /** How long a run that waits for a user keeps its slot, in milliseconds. Default: 10,000. */
  readonly suspendAfterMs?: number | undefined
  /** How long a call waits for an approval, in milliseconds. Default: 24 hours. */
  readonly approvalTimeoutMs?: number | undefined
  /** How often a run is taken over without progress before it becomes a dead letter. Default: 5. */
  readonly maxTakeovers?: number | undefined
  /** How often the worker polls for runs when nothing wakes it, in milliseconds. Default: 1,000. */
  readonly pollMs?: number | undefined
  /** Called with errors in the worker that did not end a run: the operation is retried. */
  readonly onError?: ((error: unknown) => void) | undefined
  /** Called when another node, or `capstan cluster drain`, has requested this node to end. */
  readonly onDrain?: (() => void) | undefined
  readonly now?: (() => number) | undefined
}

/** The counters of a worker. */
export type WorkerMetrics = {
  readonly active: number
  readonly slots: number
  readonly claimed: number
  readonly completed: number
  readonly failed: number
  readonly cancelled: number
  /** The number of runs that released their slot while they waited for a user. */
  readonly suspended: number
  /** The number of runs that were taken over from a node that had ended. */
  readonly takenOver: number
  readonly dead: number
  /** The number of runs that now belong to another node. */
  readonly lost: number
  /** The number of answers to approvals that were forged, expired, reused or about another question. */
  readonly refusedAnswers: number
}
