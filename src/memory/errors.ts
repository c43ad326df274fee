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

/** Thrown when something could not be remembered or recalled; earlier memories are unchanged. */
export class MemoryError extends CapstanError<MemoryErrorCode> {}

markErrorClass(MemoryError, 'MemoryError')
