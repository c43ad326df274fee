import { CapstanError, markErrorClass } from '../tool/errors.js'

/** Thrown when a hook cannot be registered: an unknown event, or an invalid matcher or setting. */
export class HookError extends CapstanError {
  constructor(message: string) {
    super('invalid_hook', message)
  }
}

markErrorClass(HookError, 'HookError')
