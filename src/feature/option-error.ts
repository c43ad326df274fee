import { CapstanError, markErrorClass } from '../tool/errors.js'

/** An option of a session, or an argument that needs one, that cannot be used. `option` is its name. */
export class SessionOptionError extends CapstanError {
  readonly option: string

  constructor(option: string, message: string) {
    super('session_option', message)
    this.option = option
  }
}

markErrorClass(SessionOptionError, 'SessionOptionError')
