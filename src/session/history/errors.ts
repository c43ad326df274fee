import { CapstanError, markErrorClass } from '../../tool/errors.js'

/** The kinds of errors of undo, rewind and fork. */
export type HistoryErrorCode =
  | 'message_not_found'
  | 'not_a_user_message'
  | 'nothing_rewound'
  | 'nothing_to_undo'
  | 'fork_point'

/** A session cannot be gone back in, forked or undone that way; nothing was changed. */
export class HistoryError extends CapstanError<HistoryErrorCode> {}

markErrorClass(HistoryError, 'HistoryError')
