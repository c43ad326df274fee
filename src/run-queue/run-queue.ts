import type { JsonObject, JsonValue } from '../tool/json.js'

/** A run as it is submitted: everything that a worker needs to execute it. */
export type RunSubmission = {
  /** Chosen by the submitter. A second submission with the same id is the same run. */
  readonly runId: string
  readonly sessionId: string
  readonly prompt: string
  readonly tenantId?: string | undefined
  /** The name of the tenant's limit in `TenantLimits.tiers`. */
  readonly tier?: string | undefined
  /** A class of runs that workers serve or not. Default: `default`. */
  readonly lane: string
  /** Runs with a higher priority start first. Default: 0. Runs of one session stay in the order of their submission. */
  readonly priority: number
  /** The run does not start before this time, in milliseconds since 1970. */
  readonly notBeforeMs?: number | undefined
  /** Further data for the worker. A queue stores it and does not read it. */
  readonly request: JsonObject
  /** A digest of the submission: the same id with another digest is rejected. */
  readonly digest: string
}

/** All states of a run in a queue. */
export const queuedRunStates = [
  'queued',
  'active',
  'waiting',
  'completed',
  'failed',
  'cancelled',
  'dead',
] as const
/**
 * The state of a run in a queue. `waiting`: it has no slot, because a user must answer first. `dead`: it was taken over
 * too often without progress, and waits for `redrive`.
 */
export type QueuedRunState = (typeof queuedRunStates)[number]

/** Whether a run waits or is active. */
export function isOpenRun({ state }: { readonly state: QueuedRunState }): boolean {
  return state === 'queued' || state === 'active' || state === 'waiting'
}

/** A run in a queue. */
export type QueuedRun = RunSubmission & {
  readonly state: QueuedRunState
  readonly submittedAtMs: number
  readonly updatedAtMs: number
  /** Grows with every claim. Reports about an earlier claim have no effect. */
  readonly attempt: number
  /** How often the node of the run ended since the run last made progress. */
  readonly takeovers: number
  /** The position of the log at the last claim; a number that only grows with progress. */
  readonly position: number
  /** How often it was queued again after it had failed or died. */
  readonly redrives?: number | undefined
  /** The node that executes it, while it is active. */
  readonly nodeId?: string | undefined
  readonly cancelRequested: boolean
  /** Why it failed, or died. */
  readonly error?: { readonly code: string; readonly message: string } | undefined
}

/** Limits what a caller sees: with a tenant, only the runs of that tenant exist. */
export type TenantScope = { readonly tenantId?: string | undefined }

/** Selects runs, newest first. */
export type RunFilter = TenantScope & {
  readonly sessionId?: string | undefined
  readonly states?: readonly QueuedRunState[] | undefined
  readonly lane?: string | undefined
  /** The maximum number of runs. Default: 100. */
  readonly limit?: number | undefined
  /** `next` of the previous page. */
  readonly cursor?: string | undefined
}

/** A page of a list of runs. */
export type RunPage = { readonly runs: readonly QueuedRun[]; readonly next?: string | undefined }

/** The outcome of a submission. `conflict`: the id belongs to another submission. */
export type SubmitOutcome =
  | { readonly outcome: 'submitted' | 'known'; readonly run: QueuedRun }
  | { readonly outcome: 'conflict' }

/** The outcome of a request to cancel. `requested`: the node of the run ends it. */
export type CancelOutcome = 'cancelled' | 'requested' | 'ended' | 'unknown'

/** A message to a run: a steering text, an answer to a question. A queue does not read its body. */
export type RunMessage = { readonly id: string; readonly body: JsonObject }

/**
 * The outcome of posting a message. `known`: a message with this id is already waiting. `ended`: no such run is active.
 */
export type PostOutcome = 'posted' | 'known' | 'ended'

/** An event of a run under its sequence number, for readers on other nodes. */
export type LiveEvent = {
  readonly sequence: number
  readonly timestampMs: number
  readonly event: JsonValue
}

/** The maximum number of active runs of one tenant in the whole cluster. Absent: no limit. */
export type TenantLimits = {
  readonly default?: number | undefined
  readonly tiers?: Readonly<Record<string, number>> | undefined
}

/** The description of a node when it joins. */
export type NodeDescription = {
  readonly name: string
  readonly host: string
  readonly pid: number
  readonly version: string
  readonly slots: number
  readonly lanes: readonly string[]
}

/** A node as other nodes see it. */
export type NodeStatus = NodeDescription & {
  readonly id: string
  readonly startedAtMs: number
  readonly seenAtMs: number
  readonly active: number
  readonly isDraining: boolean
}

/** The state of one lane. */
export type LaneStatus = {
  readonly lane: string
  readonly queued: number
  readonly active: number
  /** How long the oldest run that could start has waited; 0 when none waits. */
  readonly oldestWaitMs: number
}

/** The state of a cluster. */
export type ClusterStatus = {
  readonly nodes: readonly NodeStatus[]
  readonly lanes: readonly LaneStatus[]
  /** The number of runs that wait for a user. */
  readonly waiting: number
  readonly dead: number
  /** The number of runs that have ended, as far as the queue still has them. */
  readonly ended: Readonly<Record<'completed' | 'failed' | 'cancelled', number>>
  /** How often a run was taken from a node that had ended, since the queue was created. */
  readonly takeovers: number
}

/** Sums under one name: the usage of a tenant in a period. */
export type CounterTotals = { readonly tokens: number; readonly costUsd: number }

/** The sums that must not be exceeded. Absent: no limit. */
export type CounterLimits = { readonly [Unit in keyof CounterTotals]?: number | undefined }

/** Whether a total has reached its limit. */
export function isReached(totals: CounterTotals, limits: CounterLimits): boolean {
  return (['tokens', 'costUsd'] as const).some(
    (unit) => totals[unit] >= (limits[unit] ?? Number.POSITIVE_INFINITY),
  )
}

/** An addition to a counter, which is made once for each id. */
export type CounterAddition = CounterTotals & { readonly id: string }

/** The outcome of a reservation. `totals`: the sums before a refusal, or with the reservation. */
export type Reservation = { readonly isReserved: boolean; readonly totals: CounterTotals }

/** How long a queue stores runs that have ended. */
export type RunRetention = {
  /** The maximum age of ended runs in milliseconds, also of dead ones. */
  readonly maxAgeMs: number
  /** The maximum number of completed, failed and cancelled runs; the newest stay. */
  readonly maxRuns: number
}

/**
 * Runs that ended less than this time ago are not removed: their readers, and clients that send a request again, need
 * them.
 */
export const minRetentionMs = 10 * 60_000

/** A run that this node executes, until it is settled or another node takes it over. */
export type RunClaim = { readonly run: QueuedRun; readonly attempt: number }

/** Which runs a node claims. */
export type ClaimOptions = {
  readonly lanes: readonly string[]
  readonly max: number
  readonly tenantLimits?: TenantLimits | undefined
}

/**
 * The end of a claim. `waiting`: the run has no slot until a message that wakes it arrives; one that has already
 * arrived queues it at once. `queued`: the node releases the run, which is not a takeover.
 */
export type Settlement = {
  readonly state: Exclude<QueuedRunState, 'active'>
  readonly error?: QueuedRun['error']
  /** For `waiting`: the run is queued at this time even without a message, in milliseconds since 1970. */
  readonly wakeAtMs?: number | undefined
}

/** The reason why a node is woken. `drain`: it must claim no more runs. */
export type WakeReason = 'work' | 'messages' | 'cancel' | 'drain'

/** The membership of one node. */
export interface QueueMember {
  readonly nodeId: string
  /** Claims runs that can start, in order: at most one of each session, and none beyond the limit of its tenant. */
  claim(options: ClaimOptions): Promise<readonly RunClaim[]>
  /** Saves the log position of a run and how often it was taken over without progress. */
  mark(claim: RunClaim, mark: { readonly position: number; readonly takeovers: number }): Promise<boolean>
  /** Ends a claim. Returns false, and changes nothing, when the run now belongs to another claim. */
  settle(claim: RunClaim, settlement: Settlement): Promise<boolean>
  /**
   * Returns the state of a claimed run, undefined when the claim was lost; and its messages that are not acknowledged.
   */
  inspect(
    claim: RunClaim,
  ): Promise<{ readonly cancelRequested: boolean; readonly messages: readonly RunMessage[] } | undefined>
  /** Removes messages that the run has read. */
  acknowledge(claim: RunClaim, messageIds: readonly string[]): Promise<void>
  /** Publishes events of a claimed run to readers on all nodes. They are stored for a short time only. */
  publish(claim: RunClaim, events: readonly LiveEvent[]): Promise<void>
  /** Calls back when there may be something to do. A queue can miss a call, so callers also poll. */
  onWake(listener: (reason: WakeReason) => void): () => void
  /** Leaves the cluster. Runs that are still claimed are taken over by other nodes. */
  leave(): Promise<void>
}

/**
 * Queues runs for workers, and shares the state of nodes. The session's log remains the authoritative record of a
 * run; the queue only decides which node executes it, and when. `checkRunQueue` of `capstan/testing` tests an
 * implementation.
 */
export interface RunQueue {
  readonly backend: string
  /** Adds a run, once for each id. When it resolves, the run survives every process. */
  submit(submission: RunSubmission): Promise<SubmitOutcome>
  get(runId: string, scope?: TenantScope): Promise<QueuedRun | undefined>
  list(filter?: RunFilter): Promise<RunPage>
  /**
   * Ends a run that has not started; requests it from the node of one that has. A waiting run is queued so that a node
   * ends it.
   */
  cancel(runId: string, scope?: TenantScope): Promise<CancelOutcome>
  /** Adds a message, once for each id. With `wakes`, a waiting run is queued before all others of its lane. */
  post(
    runId: string,
    message: RunMessage,
    options?: TenantScope & { readonly wakes?: boolean | undefined },
  ): Promise<PostOutcome>
  /** Queues a dead or failed run again. Returns false when it is neither. */
  redrive(runId: string, scope?: TenantScope): Promise<boolean>
  /** Returns the published events of a run after a number, as far as they are still stored. */
  live(runId: string, from: number, scope?: TenantScope): Promise<readonly LiveEvent[]>
  /** Calls back when a run has new events or another state. A queue can miss a call. */
  watch(runId: string, onChange: () => void): () => void
  /**
   * Adds to a counter, once for each id of an addition, and returns its totals. Without an addition it only reads them.
   * An id is remembered for 10 minutes at least.
   */
  count(name: string, add?: CounterAddition): Promise<CounterTotals>
  /**
   * Adds to a counter as `count` does, unless one of its totals has already reached its limit. Of any number of
   * concurrent reservations on any nodes, none is added after a limit is reached. The same id has the same outcome.
   */
  reserve(name: string, add: CounterAddition, limits: CounterLimits): Promise<Reservation>
  /**
   * Removes runs that have ended, the oldest first, and counters of past periods. The logs of their sessions stay.
   * Returns how many runs were removed; a queue can remove a part of them with each call.
   */
  removeEnded(retention: RunRetention): Promise<number>
  join(node: NodeDescription): Promise<QueueMember>
  /** Requests that a node claims no more runs and ends. Returns false when there is no such node. */
  drain(nodeId: string): Promise<boolean>
  status(): Promise<ClusterStatus>
  close(): Promise<void>
}
