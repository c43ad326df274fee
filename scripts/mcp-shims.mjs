// What the protocol's libraries bring for checking schemas is half of their size, and is not used: capstan checks for
// itself.
import process from 'node:process'

export const CORS_IS_POSSIBLE = false
export { process }
export class DefaultJsonSchemaValidator {
  getValidator() {
    return (/** @type {unknown} */ input) => ({ valid: true, data: input, errorMessage: undefined })
  }
}
