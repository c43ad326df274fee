import { CapstanError, markErrorClass } from '../tool/errors.js'

/**
 * Thrown when an option of a session, or an argument that requires an option, is invalid. `option` is the option's
 * name.
 */
export class SessionOptionError extends CapstanError {
  readonly option: string

  constructor(option: string, message: string) {
    super('session_option', message)
    this.option = option
  }
}

markErrorClass(SessionOptionError, 'SessionOptionError')
