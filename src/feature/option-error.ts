import { CapstanError, markErrorClass } from '../tool/errors.js'

/** Thrown when an option of a session, or an argument that needs one, is invalid. `option` is its name. */
export class SessionOptionError extends CapstanError {
  readonly option: string

  constructor(option: string, message: string) {
    super('session_option', message)
    this.option = option
  }
}

markErrorClass(SessionOptionError, 'SessionOptionError')
