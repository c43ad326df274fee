/** The interface of a queue of runs, and the queue for one process. */

export { InProcessRunQueue, type InProcessRunQueueOptions } from './in-process-queue.js'
export type {
  CancelOutcome,
  ClaimOptions,
  ClusterStatus,
  CounterAddition,
  CounterLimits,
  CounterTotals,
  LaneStatus,
  LiveEvent,
  NodeDescription,
  NodeStatus,
  PostOutcome,
  QueuedRun,
  QueuedRunState,
  QueueMember,
  Reservation,
  RunClaim,
  RunFilter,
  RunMessage,
  RunPage,
  RunQueue,
  RunRetention,
  RunSubmission,
  Settlement,
  SubmitOutcome,
  TenantLimits,
  TenantScope,
  WakeReason,
} from './run-queue.js'
export { queuedRunStates } from './run-queue.js'
