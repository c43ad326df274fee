import { messageOf } from '../../tool/errors.js'
import { isRecord } from '../../tool/json.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import { jsonTextOf } from '../../tool/serialize.js'
import { ModelError } from '../errors.js'
import { connectionError, isObject, type ModelPlace, nameOf, refusalError } from '../provider-error.js'
import { type StreamEnd, StreamFailure } from './read-stream.js'

/** Converts an error that an AI SDK model threw, or sent as an error part, to a {@link ModelError}. */
export function toModelError(known: ModelPlace, thrown: unknown, emitted: boolean): ModelError {
  const own = ownErrorIn(thrown)
  if (own !== undefined) return own
  if (thrown instanceof StreamFailure) return failureError(known, thrown.error, emitted)
  const error = isObject(thrown) ? thrown : {}
  const place = known.url === '' && typeof error['url'] === 'string' ? { ...known, url: error['url'] } : known
  const name = String(error['name'] ?? '')
  const facts = { cause: thrown, ...(emitted && { emitted }) }
  if (typeof error['statusCode'] === 'number') return refusal(place, error, emitted)
  if (name === 'AI_LoadAPIKeyError' || name === 'LoadAPIKeyError')
    return new ModelError('model_auth', `${nameOf(place)} has no API key: ${messageOf(thrown)}`, facts)
  if (/TypeValidation|JSONParse|EmptyResponseBody|InvalidResponseData|NoContentGenerated/.test(name))
    return badResponse(place, 'sent something that is not an answer', emitted, thrown)
  if (/Unsupported|InvalidPrompt|InvalidArgument|NoSuchModel/.test(name))
    return new ModelError(
      'model_request_refused',
      `${nameOf(place)} cannot take this request: ${messageOf(thrown)}`,
      facts,
    )
  return connectionError(place, name.endsWith('APICallError') ? (error['cause'] ?? thrown) : thrown, emitted)
}

/** Returns the {@link ModelError} that a library wrapped in one of its own errors. */
function ownErrorIn(thrown: unknown): ModelError | undefined {
  let error = thrown
  for (let depth = 0; depth < 5 && isObject(error); depth++) {
    if (error instanceof ModelError) return error
    error = error['cause']
  }
  return undefined
}

/**
 * Returns the error for a stream that ended without a finish reason or with a failure; undefined when it ended
 * normally.
 */
export function endError(
  place: ModelPlace,
  end: StreamEnd | undefined,
  emitted: boolean,
  mustSayWhy: boolean,
): ModelError | undefined {
  const silent = end?.finish === 'other' && end.raw === undefined
  if (end === undefined || (mustSayWhy && silent))
    return badResponse(place, 'was cut off before it had finished', emitted)
  if (end.finish === 'error') return badResponse(place, `ended with "${end.raw ?? 'error'}"`, emitted)
  return undefined
}

function badResponse(place: ModelPlace, what: string, emitted: boolean, cause?: unknown): ModelError {
  return new ModelError('model_bad_response', `${nameOf(place)} ${what}; try again`, {
    retryable: true,
    emitted,
    ...omitUndefined({ cause }),
  })
}

/** Converts an error part, which contains the provider's own object, or an error like those that are thrown. */
function failureError(place: ModelPlace, error: unknown, emitted: boolean): ModelError {
  if (error instanceof Error) return toModelError(place, error, emitted)
  if (isRecord(error) && typeof error['statusCode'] === 'number') return refusal(place, error, emitted)
  const body =
    typeof error === 'string' ? error : (jsonTextOf(isRecord(error) ? wrapped(error) : error) ?? '')
  return refusalError(place, { body, emitted })
}

function wrapped(error: Record<string, unknown>): object {
  return isRecord(error['error']) ? error : { error }
}

function refusal(place: ModelPlace, error: Readonly<Record<string, unknown>>, emitted: boolean): ModelError {
  const { statusCode, responseBody, responseHeaders } = error
  const said = typeof responseBody === 'string' && responseBody !== '' ? responseBody : messageOf(error)
  return refusalError(place, {
    status: typeof statusCode === 'number' ? statusCode : undefined,
    headers: isRecord(responseHeaders) ? headersOf(responseHeaders) : undefined,
    body: said,
    emitted,
  })
}

function headersOf(headers: Record<string, unknown>): { get(name: string): string | null } {
  return { get: (name) => (typeof headers[name] === 'string' ? headers[name] : null) }
}
