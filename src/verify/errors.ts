import { CapstanError, markErrorClass } from '../tool/errors.js'

/** What was given to be verified, or recorded as verified, cannot be used. */
export class VerificationError extends CapstanError {
  constructor(message: string) {
    super('verification_invalid', message)
  }
}

markErrorClass(VerificationError, 'VerificationError')
