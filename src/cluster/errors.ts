import { CapstanError, markErrorClass } from '../tool/errors.js'

/** All codes of a {@link ClusterError}. */
const clusterErrorCodes = [
  'run_not_found',
  'run_conflict',
  'run_ended',
  'submission_invalid',
  'approval_not_found',
  'question_not_found',
  'already_answered',
  'workspace_unknown',
  'session_not_found',
] as const
/** The code of a {@link ClusterError}. */
export type ClusterErrorCode = (typeof clusterErrorCodes)[number]

/** Thrown when a request to a cluster fails. */
export class ClusterError extends CapstanError<ClusterErrorCode> {}

markErrorClass(ClusterError, 'ClusterError')

/** Creates the error for a run that does not exist, or belongs to another tenant. */
export function runNotFound(runId: string): ClusterError {
  return new ClusterError('run_not_found', `There is no run '${runId}'.`)
}
