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
  /** The period of the counters, in UTC; `day` unless given. */
  readonly period?: 'day' | 'month' | undefined
  readonly default?: TenantQuota | undefined
  readonly tiers?: Readonly<Record<string, TenantQuota>> | undefined
}

/** The options of a {@link Worker}. */
export type WorkerOptions = {
  /** Gives the model, the rules and the tools. A submission can only restrict them. */
  readonly agent: Agent
  readonly store: SessionStore
  readonly queue: RunQueue
  /** The directories that runs can work in, by name. The first one is the default. */
  readonly workspaces: Readonly<Record<string, string>>
  /** How many runs are active here at once; 4 unless given. */
  readonly slots?: number | undefined
  /** The lanes that the worker serves; `default` unless given. */
  readonly lanes?: readonly string[] | undefined
  /** How many runs of one tenant are active in the cluster. All workers must have the same limits. */
  readonly tenantLimits?: TenantLimits | undefined
  /** What a tenant can use. Absent, like `tenantLimits`: the block `cluster` of the configuration of the agent. */
  readonly tenantQuotas?: TenantQuotas | undefined
  /** How long the queue stores runs that have ended; 30 days and 100,000 runs unless given. */
  readonly retention?: { readonly [Limit in keyof RunRetention]?: number | undefined } | undefined
  /** Options of every session. */
  readonly session?: SessionOptions | undefined
  /** Checks answers to approvals; see `RunClientOptions.clusterKey`. */
  readonly clusterKey?: ClusterKey | undefined
  /** The name of this node for people; the host name unless given. */
  readonly name?: string | undefined
  /** How long a run that waits for a user keeps its slot; 10,000 unless given. */
  readonly suspendAfterMs?: number | undefined
  /** How long a call waits for an approval; 24 hours unless given. */
  readonly approvalTimeoutMs?: number | undefined
  /** How often a run is taken over without progress before it is a dead letter; 5 unless given. */
  readonly maxTakeovers?: number | undefined
  /** How often the worker looks for runs by itself, when no call wakes it; 1,000 unless given. */
  readonly pollMs?: number | undefined
  /** Called with what failed in the worker and did not end a run: it is tried again. */
  readonly onError?: ((error: unknown) => void) | undefined
  /** Called when another node, or `capstan cluster drain`, has asked this node to end. */
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
  /** Gave up their slot while they waited for a user. */
  readonly suspended: number
  /** Were taken over from a node that had ended. */
  readonly takenOver: number
  readonly dead: number
  /** Belong to another node by now. */
  readonly lost: number
  /** Answers to approvals that were forged, expired, reused or about another question. */
  readonly refusedAnswers: number
}
