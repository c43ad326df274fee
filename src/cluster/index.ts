/** The entry `capstan/cluster`: runs that are executed by any of several workers. */

export * from '../run-queue/index.js'
export { ClusterError, type ClusterErrorCode } from './errors.js'
export * from './run-client.js'
export type { ApprovalDecision, ClusterKey } from './signed-answer.js'
export type { SubmitRequest } from './submission.js'
export { Worker } from './worker.js'
export type { TenantQuota, TenantQuotas, WorkerMetrics, WorkerOptions } from './worker-options.js'
