import { CapstanError, markErrorClass } from '../tool/errors.js'

/** Thrown when a command cannot be registered. */
export class CommandError extends CapstanError {
  constructor(message: string) {
    super('invalid_command', message)
  }
}

markErrorClass(CommandError, 'CommandError')
