import type { JsonValue } from '../tool/json.js'
import type { Lane } from '../tool/lane.js'

/**
 * Decides which call can start and which worker has which task. The built-in engine keeps both in this process; another
 * can keep them in a database that several nodes share.
 */
export interface QueueEngine {
  /** Waits for a free slot in a lane. Returns undefined, without a slot, when the signal was aborted first. */
  enter(entry: LaneEntry): Promise<Room | undefined>
  readonly board: TaskBoard
  depth(lane: Lane): LaneDepth
  close(): Promise<void>
}

export type LaneEntry = {
  readonly lane: Lane
  /** The lower, the sooner; who waits moves up. */
  readonly priority: number
  readonly signal?: AbortSignal | undefined
}
export type Room = { leave(): void }
export type LaneDepth = { readonly waiting: number; readonly active: number }

/** Where tasks are offered to workers. A task that a worker has taken is its own as long as its lease holds. */
export interface TaskBoard {
  /** Offers a task and waits for what becomes of it, whatever that is. */
  offer(task: ExternalTask, limits: OfferLimits): Promise<TaskEnding>
  /** Tasks that no worker has, for this worker; waits for the first one when there is none. */
  claim(request: ClaimRequest): Promise<readonly ClaimedTask[]>
  /** The work begins now. False: the lease is over, and the work must not begin. */
  start(taskId: string, leaseId: string): Promise<boolean>
  /** The work continues. Returns the tasks that are no longer the worker's. */
  renew(leases: readonly Lease[]): Promise<readonly string[]>
  /** Without a lease it is the host itself that says so. */
  complete(taskId: string, leaseId: string | undefined, completion: Completion): Promise<CompletionAnswer>
  /** Gives a task back whose work has not begun. */
  release(taskId: string, leaseId: string): Promise<boolean>
  /** A worker is gone and will not come back: its leases are over. */
  abandon(worker: string): Promise<void>
  /** Every task that has no result yet. */
  pending(): Promise<readonly ExternalTask[]>
}

/** Work for another process. */
export type ExternalTask = {
  readonly taskId: string
  readonly sessionId: string
  readonly lane: Lane
  /** The name of the tool. */
  readonly commandType: string
  /** Its arguments, as the gate approved them. */
  readonly payload: JsonValue
  readonly timeoutMs: number
  /** The number of the attempt, from 1. */
  readonly attempt: number
  /** Whether it can run again when its outcome is unknown. */
  readonly idempotent: boolean
}
export type OfferLimits = {
  /** How long it may be out this time. */
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
}

export type Lease = { readonly taskId: string; readonly leaseId: string }
/** A task that a worker has taken, with its lease. */
export type ClaimedTask = ExternalTask & { readonly leaseId: string; readonly leaseMs: number }
export type ClaimRequest = {
  readonly worker: string
  /** Absent: any. */
  readonly lanes?: readonly Lane[]
  /** The tools it can run; absent: any. */
  readonly tools?: readonly string[]
  readonly max: number
  readonly waitMs: number
  /** It calls `start` before it begins. One that does not counts as having begun with the claim. */
  readonly announcesStart?: boolean
  readonly signal?: AbortSignal
}

/** The result of a task, from a worker or the host. */
export type Completion = {
  readonly success: boolean
  readonly result?: unknown
  readonly error?: string
}
export type CompletionAnswer =
  | 'accepted'
  /** The same worker has said so before. */
  | 'duplicate'
  /** There is no such task, or it has a result already. */
  | 'gone'
  /** The lease has expired: another worker has the task by now. */
  | 'late'

export type TaskEnding =
  | { readonly how: 'completed'; readonly completion: Completion }
  /** `began`: whether the work may have. */
  | { readonly how: 'lost' | 'timeout' | 'aborted'; readonly began: boolean }
  | { readonly how: 'released'; readonly began: false }
