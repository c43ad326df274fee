import { CapstanError, markErrorClass } from '../tool/errors.js'

/** A goal that cannot be worked towards as it was given. */
export class GoalError extends CapstanError {
  constructor(message: string) {
    super('goal_invalid', message)
  }
}

markErrorClass(GoalError, 'GoalError')
