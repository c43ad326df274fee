import { CapstanError, markErrorClass } from '../tool/errors.js'

/** A hook that cannot be registered: an unknown event, a matcher or setting that would not do what it says. */
export class HookError extends CapstanError {
  constructor(message: string) {
    super('invalid_hook', message)
  }
}

markErrorClass(HookError, 'HookError')
