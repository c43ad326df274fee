import { CapstanError, markErrorClass } from '../tool/errors.js'

/** A command that cannot be registered. */
export class CommandError extends CapstanError {
  constructor(message: string) {
    super('invalid_command', message)
  }
}

markErrorClass(CommandError, 'CommandError')
