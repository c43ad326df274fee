import { CapstanError, markErrorClass } from '../tool/errors.js'

/** Thrown for an invalid pattern. `position` is the index of the wrong character. */
export class PatternError extends CapstanError {
  readonly pattern: string
  readonly position: number

  constructor(pattern: string, position: number, problem: string) {
    super('invalid_pattern', `${problem} at position ${position} of the pattern ${shown(pattern)}`)
    this.pattern = pattern
    this.position = position
  }
}

markErrorClass(PatternError, 'PatternError')

/** Shortens a pattern for a message: a hostile pattern can be long. */
function shown(pattern: string): string {
  return JSON.stringify(pattern.length > 200 ? `${pattern.slice(0, 200)}…` : pattern)
}
