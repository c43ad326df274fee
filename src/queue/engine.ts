import type { JsonValue } from '../tool/json.js'
import type { Lane } from '../tool/lane.js'

/**
 * Decides which call can start and which worker has which task. The built-in engine stores both in this process;
 * another engine can store them in a database that several nodes share.
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
  /** Lower values start sooner; the priority of a waiting call rises over time. */
  readonly priority: number
  readonly signal?: AbortSignal | undefined
}
export type Room = { leave(): void }
export type LaneDepth = { readonly waiting: number; readonly active: number }

/** Where tasks are offered to workers. A task that a worker has claimed belongs to it until its lease expires. */
export interface TaskBoard {
  /** Offers a task and waits for its outcome, whatever it is. */
  offer(task: ExternalTask, limits: OfferLimits): Promise<TaskEnding>
  /** Returns unclaimed tasks for this worker; waits for the first one if there is none. */
  claim(request: ClaimRequest): Promise<readonly ClaimedTask[]>
  /** Announces that the work begins. False: the lease has expired, and the work must not begin. */
  start(taskId: string, leaseId: string): Promise<boolean>
  /** Announces that the work continues. Returns the tasks that no longer belong to the worker. */
  renew(leases: readonly Lease[]): Promise<readonly string[]>
  /** Reports the result of a task. Without a lease, the host itself reports it. */
  complete(taskId: string, leaseId: string | undefined, completion: Completion): Promise<CompletionAnswer>
  /** Returns a task whose work has not begun. */
  release(taskId: string, leaseId: string): Promise<boolean>
  /** Ends the leases of a worker that has disconnected permanently. */
  abandon(worker: string): Promise<void>
  /** Returns every task that has no result yet. */
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
  /** The time limit of this offer, in milliseconds. */
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
}

export type Lease = { readonly taskId: string; readonly leaseId: string }
/** A task that a worker has taken, with its lease. */
export type ClaimedTask = ExternalTask & { readonly leaseId: string; readonly leaseMs: number }
export type ClaimRequest = {
  readonly worker: string
  /** The lanes it serves; absent: all. */
  readonly lanes?: readonly Lane[]
  /** The tools it can run; absent: all. */
  readonly tools?: readonly string[]
  readonly max: number
  readonly waitMs: number
  /** Whether the worker calls `start` before it begins. If not, the work counts as begun with the claim. */
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
  /** The same worker has reported this before. */
  | 'duplicate'
  /** There is no such task, or it has a result already. */
  | 'gone'
  /** The lease has expired; another worker may have the task. */
  | 'late'

export type TaskEnding =
  | { readonly how: 'completed'; readonly completion: Completion }
  /** `began`: whether the work may have begun. */
  | { readonly how: 'lost' | 'timeout' | 'aborted'; readonly began: boolean }
  | { readonly how: 'released'; readonly began: false }
