import { CapstanError, markErrorClass } from '../tool/errors.js'

/** The codes of `SupervisionError`. */
export type SupervisionErrorCode =
  /** The options of a supervisor are invalid. */
  | 'supervision_config'
  /** The supervisor cannot be reached, or is gone. */
  | 'supervision_unavailable'
  /** It was asked, and the connection was lost before it had answered. */
  | 'supervision_lost'
  /** It was asked, and did not answer in time. */
  | 'supervision_timeout'
  /** It answered, and the answer cannot be understood. */
  | 'supervision_protocol'
  /** It does not want to be asked: an error in place of an answer. */
  | 'supervision_refused'
  | 'supervision_aborted'

/** Thrown for errors of a supervisor. No message contains its token. */
export class SupervisionError extends CapstanError<SupervisionErrorCode> {}

markErrorClass(SupervisionError, 'SupervisionError')
