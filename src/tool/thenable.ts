/**
 * Whether a value has to be waited for, by the same test as `await`. What a host returns is checked this way: a promise
 * of a library or of another realm is not an instance of `Promise`.
 */
export function isThenable<Value>(value: Value | PromiseLike<Value>): value is PromiseLike<Value> {
  const canHaveMethods = (typeof value === 'object' && value !== null) || typeof value === 'function'
  return canHaveMethods && 'then' in value && typeof value.then === 'function'
}
