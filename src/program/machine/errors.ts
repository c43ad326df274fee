import { CapstanError, markErrorClass } from '../../tool/errors.js'

/** Why a program ended without a result. */
export type ProgramFailureCode =
  | 'program_source_invalid'
  | 'program_run_missing'
  | 'program_failed'
  | 'program_timeout'
  | 'program_aborted'
  | 'program_memory'
  | 'program_stalled'
  | 'program_result_invalid'
  | 'program_crashed'
  | 'program_not_repeatable'
  | 'program_closed'

/** Thrown when a program could not be started, or its arguments are not allowed. */
export class ProgramError extends CapstanError {}

markErrorClass(ProgramError, 'ProgramError')
