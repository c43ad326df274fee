import { CapstanError, markErrorClass } from '../../tool/errors.js'

/** A file, or a specification, that is not an agent. */
export class AgentFileError extends CapstanError {
  constructor(message: string) {
    super('invalid_agent', message)
  }
}

markErrorClass(AgentFileError, 'AgentFileError')
