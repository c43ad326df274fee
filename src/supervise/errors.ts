import { CapstanError, markErrorClass } from '../tool/errors.js'

/** The codes of `SupervisionError`. */
export type SupervisionErrorCode =
  /** The options of a supervisor are invalid. */
  | 'supervision_config'
  /** The supervisor cannot be reached, or has disconnected. */
  | 'supervision_unavailable'
  /** The connection was lost after the request and before the answer. */
  | 'supervision_lost'
  /** The supervisor did not answer in time. */
  | 'supervision_timeout'
  /** The answer of the supervisor is invalid. */
  | 'supervision_protocol'
  /** The supervisor answered with an error. */
  | 'supervision_refused'
  | 'supervision_aborted'

/** Thrown for errors of a supervisor. No message contains its token. */
export class SupervisionError extends CapstanError<SupervisionErrorCode> {}

markErrorClass(SupervisionError, 'SupervisionError')
