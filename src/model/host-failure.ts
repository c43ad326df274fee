import { CapstanError, messageOf } from '../tool/errors.js'
import { ModelError } from './errors.js'
import { type ModelPlace, nameOf, refusalError } from './provider-error.js'

/**
 * Converts an error of a host's own model to a {@link ModelError} with the original in `cause`: an error with a status
 * is a rejection, a broken connection can be retried, and everything else is a failure of that model. A `ModelError` is
 * returned unchanged.
 */
export function hostFailure(place: ModelPlace, error: unknown, emitted: boolean): Error {
  if (error instanceof CapstanError) return error
  const chain = causesOf(error)
  const status = chain.map(statusOf).find((found) => found !== undefined)
  if (status !== undefined)
    return refusalError(place, { status, body: messageOf(error), emitted, cause: error })
  const facts = { cause: error, emitted }
  if (!chain.some(isAbort) && chain.some(isTransient))
    return new ModelError('model_unreachable', `${nameOf(place)} could not be reached: ${messageOf(error)}`, {
      ...facts,
      retryable: true,
    })
  return new ModelError('model_server_error', `${nameOf(place)} failed: ${messageOf(error)}`, facts)
}

type Thrown = Readonly<Record<string, unknown>>

/** Returns the error and its causes, outermost first. */
function causesOf(error: unknown): Thrown[] {
  const chain: Thrown[] = []
  let current = error
  while (typeof current === 'object' && current !== null && chain.length < maxCauses) {
    chain.push(current as Thrown)
    current = (current as Thrown)['cause']
  }
  return chain
}

const maxCauses = 8

function statusOf({ status, statusCode }: Thrown): number | undefined {
  return [status, statusCode].find((one) => typeof one === 'number')
}

function isAbort({ name }: Thrown): boolean {
  return name === 'AbortError'
}

function isTransient({ name, code }: Thrown): boolean {
  return transientNames.has(name) || transientCodes.has(typeof code === 'string' ? code.toUpperCase() : code)
}

const transientNames: ReadonlySet<unknown> = new Set([
  'APIConnectionError',
  'APIConnectionTimeoutError',
  'TimeoutError',
])

/**
 * Error codes of Node, of undici, and of gRPC by name and by number (deadline exceeded, resource exhausted,
 * unavailable).
 */
const transientCodes: ReadonlySet<unknown> = new Set([
  'ECONNRESET',
  'ECONNREFUSED',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'ENETDOWN',
  'ENETUNREACH',
  'EHOSTUNREACH',
  'EAI_AGAIN',
  'UND_ERR_SOCKET',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'DEADLINE_EXCEEDED',
  'RESOURCE_EXHAUSTED',
  'UNAVAILABLE',
  4,
  8,
  14,
])
