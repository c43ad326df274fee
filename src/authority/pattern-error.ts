import { CapstanError, markErrorClass } from '../tool/errors.js'

/** A pattern that cannot be read. `position` is the index of the character at fault. */
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

/** A hostile pattern may be long; the message need not be. */
function shown(pattern: string): string {
  return JSON.stringify(pattern.length > 200 ? `${pattern.slice(0, 200)}…` : pattern)
}
