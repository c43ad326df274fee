import { CapstanError, markErrorClass } from '../tool/errors.js'

/** The codes of `MemoryError`. */
export type MemoryErrorCode =
  | 'memory_not_configured'
  | 'memory_invalid'
  | 'memory_too_large'
  | 'memory_secret'
  | 'memory_exists'
  | 'memory_unwritable'
  | 'memory_full'
  | 'memory_failed'

/** Something could not be remembered or recalled; what was remembered before is as it was. */
export class MemoryError extends CapstanError<MemoryErrorCode> {}

markErrorClass(MemoryError, 'MemoryError')
