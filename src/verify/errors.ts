import { CapstanError, markErrorClass } from '../tool/errors.js'

/** Thrown when the given checks or reports are invalid. */
export class VerificationError extends CapstanError {
  constructor(message: string) {
    super('verification_invalid', message)
  }
}

markErrorClass(VerificationError, 'VerificationError')
