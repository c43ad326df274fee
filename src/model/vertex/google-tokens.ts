import { createSign } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { messageOf, tryOr } from '../../tool/errors.js'
import { isRecord } from '../../tool/json.js'
import { readRefusal } from '../chat/read-refusal.js'
import type { ConnectionOptions } from '../connection/connection-options.js'
import { createSender } from '../connection/create-sender.js'
import { isLoopback } from '../connection/loopback.js'
import { ModelError } from '../errors.js'
import { connectionError, type ModelPlace, nameOf } from '../provider-error.js'

/**
 * Creates a function that returns the access token for a Google credentials file: of a service account, or of a user
 * (`gcloud auth application-default login`). A token is used until shortly before it expires. Errors contain no part of
 * the file.
 */
export function createGoogleTokens(
  place: Pick<ModelPlace, 'provider' | 'id'>,
  file: string,
  connection: ConnectionOptions,
): () => Promise<string> {
  let current: { readonly token: string; readonly until: number } | undefined
  let fetching: Promise<string> | undefined
  const renew = async (): Promise<string> => {
    const grant = await readGrant(place, file)
    const { token, seconds } = await exchange(place, grant, connection)
    current = { token, until: Date.now() + (seconds - earlySeconds) * 1000 }
    return token
  }
  return () => {
    if (current !== undefined && Date.now() < current.until) return Promise.resolve(current.token)
    fetching ??= renew().finally(() => {
      fetching = undefined
    })
    return fetching
  }
}

/** How long before its expiry a token is replaced: a request that starts with it must be accepted in time. */
const earlySeconds = 120
const exchangeTimeoutMs = 30_000
const scope = 'https://www.googleapis.com/auth/cloud-platform'
const usersTokenUri = 'https://oauth2.googleapis.com/token'

type Place = Pick<ModelPlace, 'provider' | 'id'>
/** A request for a token. */
type Grant = { readonly uri: string; readonly form: Readonly<Record<string, string>> }

async function readGrant(place: Place, file: string): Promise<Grant> {
  const fields = await readFields(place, file)
  const of = (name: string): string => {
    const value = fields[name]
    if (typeof value === 'string' && value !== '') return value
    throw unusableFile(place, file, `has no ${name}`)
  }
  const type = of('type')
  if (type === 'service_account') {
    const uri = tokenUri(place, file, of('token_uri'))
    const claims = { iss: of('client_email'), scope, aud: uri }
    try {
      const assertion = signedToken(claims, of('private_key'), fields['private_key_id'])
      return { uri, form: { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion } }
    } catch (error) {
      if (error instanceof ModelError) throw error
      // The error of the library may contain the key.
      throw unusableFile(place, file, 'has a private_key that is not an RSA key in PEM format')
    }
  }
  if (type === 'authorized_user')
    return {
      uri: tokenUri(place, file, fields['token_uri'] ?? usersTokenUri),
      form: {
        grant_type: 'refresh_token',
        client_id: of('client_id'),
        client_secret: of('client_secret'),
        refresh_token: of('refresh_token'),
      },
    }
  throw unusableFile(place, file, 'has a type other than service_account and authorized_user')
}

async function readFields(place: Place, file: string): Promise<Record<string, unknown>> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    throw unusableFile(place, file, `cannot be read (${messageOf(error)})`)
  }
  try {
    const fields: unknown = JSON.parse(text)
    if (isRecord(fields)) return fields
  } catch {
    // The error of the parser contains the text.
    throw unusableFile(place, file, 'is not JSON')
  }
  throw unusableFile(place, file, 'is not a JSON object')
}

/** Checks the token URL: credentials are only sent encrypted, or to this machine. */
function tokenUri(place: Place, file: string, value: unknown): string {
  if (typeof value === 'string' && URL.canParse(value)) {
    const url = new URL(value)
    if (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url))) return value
  }
  throw unusableFile(place, file, 'has a token_uri that is not an https URL')
}

/** Creates a JSON Web Token with the signature RS256. */
function signedToken(claims: Readonly<Record<string, string>>, key: string, keyId: unknown): string {
  const iat = Math.floor(Date.now() / 1000)
  const header = { alg: 'RS256', typ: 'JWT', ...(typeof keyId === 'string' && { kid: keyId }) }
  const text = [header, { ...claims, iat, exp: iat + 3600 }]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  return `${text}.${createSign('RSA-SHA256').update(text).sign(key, 'base64url')}`
}

async function exchange(
  { provider, id }: Place,
  { uri, form }: Grant,
  connection: ConnectionOptions,
): Promise<{ readonly token: string; readonly seconds: number }> {
  const secrets = Object.values(form)
  const place: ModelPlace = { provider, id, url: uri, secrets }
  const send = createSender(connection, uri, secrets)
  let status: number
  let text: string
  try {
    const reply = await send({
      url: uri,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(form).toString(),
      signal: AbortSignal.timeout(exchangeTimeoutMs),
    })
    status = reply.status
    text = (await readRefusal(reply, undefined)).body ?? ''
  } catch (error) {
    throw connectionError(place, error, false)
  }
  const fields = parsed(text)
  const { access_token: token, expires_in: seconds, error: code } = fields
  if (status === 200 && typeof token === 'string' && token !== '')
    return { token, seconds: typeof seconds === 'number' ? seconds : 0 }
  const host = new URL(uri).host
  if (status === 429 || status >= 500)
    throw new ModelError('model_server_error', `${nameOf(place)} got no token: ${host} answered ${status}`, {
      status,
      retryable: true,
    })
  // Only an error code is shown: a description may contain what was sent.
  const reason =
    typeof code === 'string' && /^[a-z_]{1,40}$/.test(code) ? `${status}, ${code}` : String(status)
  throw new ModelError(
    'model_auth',
    `${nameOf(place)} got no token: ${host} refused the credentials (${reason}); check the credentials file`,
    { status },
  )
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  const value: unknown = tryOr(() => JSON.parse(text), undefined)
  return isRecord(value) ? value : {}
}

function unusableFile(place: Place, file: string, problem: string): ModelError {
  return new ModelError(
    'model_auth',
    `${nameOf(place)} has no token: the credentials file ${file} ${problem}`,
  )
}
