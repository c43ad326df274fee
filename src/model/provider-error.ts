import { messageOf, tryOr } from '../tool/errors.js'
import { isRecord } from '../tool/json.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { defaultIdleTimeoutMs, type WatchEnd } from './attempt-watch.js'
import { ModelError, type ModelErrorFacts } from './errors.js'
import type { ModelCall } from './model.js'

/** The model that failed, for error messages. */
export type ModelPlace = {
  readonly provider: string
  readonly id: string
  readonly url: string
  /** Values that are never shown: they are removed from everything that the provider sends. */
  readonly secrets?: readonly string[]
}

/** What a provider sent instead of an answer. */
export type Refusal = {
  readonly status?: number | undefined
  readonly headers?: { get(name: string): string | null } | undefined
  /** The body: JSON, plain text, or a web page. */
  readonly body: string
  readonly emitted?: boolean
  readonly now?: (() => number) | undefined
  /** The thrown error, if the failure was not a response of a server. */
  readonly cause?: unknown
}

/** Creates the error for a rejection by the provider: an HTTP status, or an error object in an answer. */
export function refusalError(place: ModelPlace, refusal: Refusal): ModelError {
  const { headers, body } = refusal
  const said = readBody(body)
  const status = refusal.status ?? said.status
  const words = scrubbed(place, said.message)
  const facts = {
    ...omitUndefined({ status }),
    ...(refusal.emitted && { emitted: true }),
    ...omitUndefined({ cause: refusal.cause }),
    ...waitAsked(headers, refusal.now),
  }
  const where = nameOf(place)
  const quote = words === '' ? '' : `: ${words}`
  const at = status === undefined ? '' : ` (HTTP ${status})`
  const say = (sentence: string): string => `${where} ${sentence}${at}${quote}`
  const hint = `${said.code} ${words}`

  if (isOverflow(hint, status)) {
    return new ModelError(
      'model_context_overflow',
      say('says the request is longer than its context window'),
      facts,
    )
  }
  if (status === 401 || status === 403) {
    const key = place.secrets?.some((secret) => secret !== '') ? 'was rejected' : 'is missing'
    return new ModelError(
      'model_auth',
      say(`refused access: the API key of provider "${place.provider}" ${key}`),
      facts,
    )
  }
  if (status === 404) {
    return new ModelError(
      'model_unavailable',
      say(`was not found at ${hostOf(place.url)}: check the model id and the base URL`),
      facts,
    )
  }
  if (status === 402 || /insufficient_quota|billing|insufficient.balance/i.test(hint)) {
    return new ModelError('model_rate_limited', say('has no credit left'), facts)
  }
  if (status === 429 || /rate.?limit|too_many_requests/i.test(said.code)) {
    return new ModelError('model_rate_limited', say('limits the rate of requests'), {
      ...facts,
      retryable: true,
    })
  }
  if (
    // A rejected request gets no answer, so an error inside an answer is a failure of the provider.
    status === undefined
      ? refusal.emitted || /overloaded|server_error|unavailable|timeout/i.test(hint)
      : isTransientStatus(status)
  ) {
    return new ModelError('model_server_error', say('failed on the side of its provider'), {
      ...facts,
      retryable: headers?.get('x-should-retry') !== 'false',
    })
  }
  return new ModelError('model_request_refused', say('refused the request'), facts)
}

/** Creates the error for a connection that failed or broke. */
export function connectionError(place: ModelPlace, thrown: unknown, emitted: boolean): ModelError {
  if (thrown instanceof ModelError) return thrown
  const { code, message } = rootCause(thrown)
  const detail = scrubbed(place, code === '' || message.includes(code) ? message : `${code}: ${message}`)
  // An error without a code is about how the request was built, and its text may contain a header.
  const facts: ModelErrorFacts = { ...(code !== '' && { cause: thrown }), ...(emitted && { emitted }) }
  const where = `${nameOf(place)} at ${hostOf(place.url)}`
  if (brokenConnection.has(code) || message === 'terminated') {
    return new ModelError('model_unreachable', `The connection to ${where} broke (${detail})`, {
      ...facts,
      retryable: true,
    })
  }
  if (silentConnection.has(code)) {
    return new ModelError('model_stalled', `${where} said nothing for too long (${detail})`, {
      ...facts,
      retryable: true,
    })
  }
  // No server listens there, the name does not resolve, or the certificate is wrong: a retry does not help.
  const advice = untrustedCertificate.test(code)
    ? 'its certificate is not trusted; set ca_file of the provider, or NODE_EXTRA_CA_CERTS, to that of its authority'
    : 'check the base URL and that the server runs'
  return new ModelError('model_unreachable', `${where} cannot be reached (${detail}): ${advice}`, facts)
}

/** The certificate chain does not end at a trusted authority. */
const untrustedCertificate = /SELF_SIGNED_CERT|CERT_UNTRUSTED|UNABLE_TO_(?:GET_ISSUER|VERIFY_LEAF)/

/** Creates the error for an attempt that was ended by its watch; undefined if it was not. */
export function watchError(
  place: ModelPlace,
  ended: WatchEnd | undefined,
  call: Pick<ModelCall, 'idleTimeoutMs' | 'timeoutMs'>,
  emitted: boolean,
): ModelError | undefined {
  const facts = { emitted, retryable: true }
  if (ended === 'stalled') {
    const ms = call.idleTimeoutMs ?? defaultIdleTimeoutMs
    return new ModelError('model_stalled', `${nameOf(place)} said nothing for ${ms} ms`, facts)
  }
  if (ended === 'timeout') {
    return new ModelError('model_timeout', `${nameOf(place)} took longer than ${call.timeoutMs} ms`, facts)
  }
  return undefined
}

/** Returns whether the same request may succeed later with this status. */
function isTransientStatus(status: number): boolean {
  return status === 408 || status === 409 || status === 425 || status === 429 || status >= 500
}

/** Formats a name: `Model "openai/gpt-5"`. */
export function nameOf({ provider, id }: Pick<ModelPlace, 'provider' | 'id'>): string {
  return `Model "${provider}/${id}"`
}

const maxQuoteLength = 300
/** The minimum length of a secret. Shorter texts are not secrets, and removing them would make messages unreadable. */
const minSecretLength = 4
const brokenConnection = new Set([
  'ECONNRESET',
  'EPIPE',
  'UND_ERR_SOCKET',
  'ECONNABORTED',
  // The network is temporarily down, or a router does not respond.
  'ETIMEDOUT',
  'ENETDOWN',
  'ENETUNREACH',
  'EHOSTUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  'PROXY_FAILED',
])

/** Codes of the timeouts that `fetch` itself has: five minutes for the head, five between two chunks of the body. */
const silentConnection = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])

/** Texts that report a context overflow. Providers report it in many ways, without a common code. */
const overflowWords =
  /context_length_exceeded|maximum context length|context window|prompt is too long|exceeds? the (?:maximum|max|model'?s?) (?:number of )?(?:input )?(?:tokens|context)|input token count|too many tokens|request_too_large|exceed_context_size|available context size|reduce the length of the (?:messages|input)|input is too long|maximum prompt length|exceeded model token limit/i

function isOverflow(hint: string, status: number | undefined): boolean {
  // Messages about a rate limit also mention tokens.
  return status !== 429 && status !== 401 && status !== 403 && (status === 413 || overflowWords.test(hint))
}

type Said = { readonly message: string; readonly code: string; readonly status?: number }

function readBody(body: string): Said {
  const text = body.trim()
  if (text.startsWith('<')) return { message: titleOf(text), code: '' }
  return tryOr(() => readError(JSON.parse(text)), undefined) ?? { message: text, code: '' }
}

/**
 * Parses `{"error":{"message","type","code"}}`, `{"error":"…"}`, `{"message"}`, `{"detail"}`, or a list of one of them.
 */
function readError(value: unknown): Said | undefined {
  if (Array.isArray(value)) return readError(value[0])
  if (!isRecord(value)) return undefined
  const error = isRecord(value['error']) ? value['error'] : value
  const given = [error['message'], value['error'], value['message'], value['detail']]
  // A validator's list of problems has no message of its own.
  const nested = given.find((one) => typeof one === 'object' && one !== null && one !== error)
  const text = given.find(isText) ?? (nested === undefined ? undefined : JSON.stringify(nested))
  const code = [error['code'], error['type']].filter(isText).join(' ')
  const status = [error['code'], error['status'], value['status']].find(isStatus)
  if (text === undefined && code === '') return undefined
  return { message: text ?? code, code, ...omitUndefined({ status }) }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function isStatus(value: unknown): value is number {
  return typeof value === 'number' && value >= 400 && value < 600
}

function titleOf(page: string): string {
  const title = /<title[^>]*>([^<]*)/i.exec(page)?.[1]?.trim()
  return title ? `a web page titled "${title}"` : 'a web page'
}

/** Returns one line of limited length without keys: a provider may echo the request. */
function scrubbed(place: ModelPlace, text: string): string {
  let clean = text
  for (const secret of place.secrets ?? []) {
    if (secret.length >= minSecretLength) clean = clean.replaceAll(secret, '[key]')
  }
  // Providers mask only the middle of a key, and the rest still reveals too much.
  clean = clean.replace(/\b(?:(?:sk|pk|gsk|xai)[-_]|AIza|Bearer )[\w*.-]{6,}/g, '[key]')
  clean = clean.replace(/\s+/g, ' ').trim()
  return clean.length > maxQuoteLength ? `${clean.slice(0, maxQuoteLength)}…` : clean
}

function waitAsked(headers: Refusal['headers'], now: () => number = Date.now): { retryAfterMs?: number } {
  const ms = Number(headers?.get('retry-after-ms') ?? Number.NaN)
  if (ms >= 0) return { retryAfterMs: ms }
  const after = headers?.get('retry-after')
  if (!after) return {}
  const seconds = Number(after)
  if (seconds >= 0) return { retryAfterMs: Math.ceil(seconds * 1000) }
  const at = Date.parse(after)
  return Number.isNaN(at) ? {} : { retryAfterMs: Math.max(0, at - now()) }
}

/** Returns the innermost error, because the message `fetch failed` alone is useless. */
function rootCause(thrown: unknown): { code: string; message: string } {
  let error = thrown
  for (let depth = 0; depth < 5 && isObject(error); depth++) {
    const inner: unknown = error['cause'] ?? (Array.isArray(error['errors']) ? error['errors'][0] : undefined)
    if (!isObject(inner)) break
    error = inner
  }
  const code = isObject(error) && isText(error['code']) ? error['code'] : ''
  return { code, message: messageOf(error) }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

/** Returns host and port only: a base URL may contain a key in its query or its user name. */
function hostOf(url: string): string {
  return tryOr(() => new URL(url).host, 'an address that is not a URL')
}
