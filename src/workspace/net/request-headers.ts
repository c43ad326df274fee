import { validateHeaderName, validateHeaderValue } from 'node:http'
import { messageOf } from '../../tool/errors.js'
import { NetError } from './errors.js'

export type Headers = Readonly<Record<string, string>>

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

// These headers frame the message or name the destination; a caller that sets them could smuggle a second request or
// another host.
const ours = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

// The headers that are sent to another origin after a redirect. Any other may be a credential (X-Api-Key): dropped.
const harmless = new Set(['accept', 'accept-language', 'user-agent'])

export function checkMethod(method: string): string {
  const upper = method.toUpperCase()
  if (methods.has(upper)) return upper
  throw new NetError(
    'net_request_invalid',
    `The method ${JSON.stringify(method)} is not supported. Use one of ${[...methods].join(', ')}.`,
  )
}

/** Returns the validated headers of a request in lower case, with defaults for those that the caller omitted. */
export function checkHeaders(given: Headers, userAgent: string): Headers {
  const headers: Record<string, string> = { accept: '*/*', 'user-agent': userAgent }
  for (const [name, value] of Object.entries(given)) {
    const lower = name.toLowerCase()
    if (ours.has(lower) || lower.startsWith('proxy-')) {
      throw new NetError('net_request_invalid', `The header "${lower}" cannot be set; leave it out.`)
    }
    try {
      validateHeaderName(name)
      validateHeaderValue(name, value)
    } catch (cause) {
      throw new NetError('net_request_invalid', messageOf(cause), { cause })
    }
    headers[lower] = value
  }
  // Set after the caller's headers: only encodings that can be decoded and counted while decoding are accepted.
  headers['accept-encoding'] = 'gzip, deflate, br'
  return headers
}

export function headersForOtherOrigin(headers: Headers): Headers {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => harmless.has(name) || name === 'accept-encoding'),
  )
}

export function headersWithoutBody(headers: Headers): Headers {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith('content-')))
}
