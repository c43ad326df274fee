import { CapstanError, markErrorClass } from '../../tool/errors.js'

/** The kinds of errors of undo, rewind and fork. */
export type HistoryErrorCode =
  | 'message_not_found'
  | 'not_a_user_message'
  | 'nothing_rewound'
  | 'nothing_to_undo'
  | 'fork_point'

/** Thrown when a session cannot be rewound, forked or undone as requested; nothing was changed. */
export class HistoryError extends CapstanError<HistoryErrorCode> {}

markErrorClass(HistoryError, 'HistoryError')
