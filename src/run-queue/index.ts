/** What a queue of runs is, and the queue of one process. */

export { InProcessRunQueue, type InProcessRunQueueOptions } from './in-process-queue.js'
export type {
  CancelOutcome,
  ClaimOptions,
  ClusterStatus,
  CounterTotals,
  LaneStatus,
  LiveEvent,
  NodeDescription,
  NodeStatus,
  PostOutcome,
  QueuedRun,
  QueuedRunState,
  QueueMember,
  RunClaim,
  RunFilter,
  RunMessage,
  RunPage,
  RunQueue,
  RunSubmission,
  Settlement,
  SubmitOutcome,
  TenantLimits,
  TenantScope,
  WakeReason,
} from './run-queue.js'
export { queuedRunStates } from './run-queue.js'
