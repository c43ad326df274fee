import { CapstanError, markErrorClass } from '../../tool/errors.js'

/** Thrown when a file, or a specification, is not a valid agent. */
export class AgentFileError extends CapstanError {
  constructor(message: string) {
    super('invalid_agent', message)
  }
}

markErrorClass(AgentFileError, 'AgentFileError')
