import { CapstanError, markErrorClass } from '../tool/errors.js'

/** The codes of `QueueError`. */
export type QueueErrorCode =
  /** The session was created without `queueConfig`. */
  | 'queue_not_configured'
  /** The options of the queue, a lane or a worker are invalid. */
  | 'queue_config'
  /** There is no dead letter with this id, or it must not be retried. */
  | 'queue_dead_letter'
  /** A worker was refused, or its queue no longer exists. */
  | 'queue_refused'

/** Thrown for errors of the lanes of a session. */
export class QueueError extends CapstanError<QueueErrorCode> {}

markErrorClass(QueueError, 'QueueError')
