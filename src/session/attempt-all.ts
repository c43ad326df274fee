import { messageOf } from '../tool/errors.js'

/**
 * Takes the steps in order, also after one that failed. Rejects at the end with the error, or with all of them if
 * several steps failed.
 */
export async function attemptAll(steps: readonly (() => void | Promise<void>)[]): Promise<void> {
  const errors: unknown[] = []
  for (const step of steps) {
    try {
      await step()
    } catch (error) {
      errors.push(error)
    }
  }
  if (errors.length === 0) return
  throw errors.length === 1 ? errors[0] : new AggregateError(errors, errors.map(messageOf).join('; '))
}
