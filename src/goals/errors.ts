import { CapstanError, markErrorClass } from '../tool/errors.js'

/** Thrown when a goal is invalid. */
export class GoalError extends CapstanError {
  constructor(message: string) {
    super('goal_invalid', message)
  }
}

markErrorClass(GoalError, 'GoalError')
