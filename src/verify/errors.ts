import { CapstanError, markErrorClass } from '../tool/errors.js'

/** The checks or reports that were passed are invalid. */
export class VerificationError extends CapstanError {
  constructor(message: string) {
    super('verification_invalid', message)
  }
}

markErrorClass(VerificationError, 'VerificationError')
