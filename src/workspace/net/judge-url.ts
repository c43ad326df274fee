import { isIP } from 'node:net'
import { type AddressPolicy, refuseAddress, refuseName } from './address-guard.js'
import { NetError } from './errors.js'

/** Returns why a host is refused. The host is lower case, without trailing dot, IPv6 without brackets. */
export type PermitHost = (host: string, port: number) => string | undefined

/** The destination of one hop: a URL that passed every check that needs no name resolution. */
export type Destination = {
  readonly url: URL
  readonly host: string
  readonly port: number
  /** The rules for the addresses of this host. */
  readonly policy: AddressPolicy
}

const maxUrlLength = 16_384

/** Judges a URL in its parsed form, never by its text: the parser turns `http://0x7f.1/` into `127.0.0.1`. */
export function judgeUrl(
  text: string,
  permitHost: PermitHost,
  policyFor: (host: string, port: number) => AddressPolicy,
): Destination {
  const url = parse(text)
  const shown = show(url)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new NetError('net_refused', `Only http and https URLs can be fetched, not "${url.protocol}".`)
  }
  if (url.username !== '' || url.password !== '') {
    throw new NetError('net_refused', `The URL carries a user name or password; leave it out: ${shown}`)
  }
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.+$/, '')
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
  const policy = policyFor(host, port)
  const why = isIP(host) === 0 ? refuseName(host, policy) : refuseAddress(host, policy)
  if (why !== undefined) throw new NetError('net_refused', `${shown} is refused: "${host}" ${why}.`)
  const refusal = permitHost(host, port)
  if (refusal !== undefined) throw new NetError('net_refused', `${shown} is refused: ${refusal}`)
  return { url, host, port, policy }
}

/** Formats a URL for messages: without the query, which may contain secrets or be long, and without credentials. */
export function show(url: URL): string {
  const text = `${url.protocol}//${url.host}${url.pathname}`
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}

function parse(text: string): URL {
  if (text.length > maxUrlLength) {
    throw new NetError('net_request_invalid', `The URL is longer than ${maxUrlLength} characters.`)
  }
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined) {
    const start = JSON.stringify(text.slice(0, 200))
    throw new NetError(
      'net_request_invalid',
      `${start} is not a URL. Give a complete one, such as https://example.com/page.`,
    )
  }
  return url
}
