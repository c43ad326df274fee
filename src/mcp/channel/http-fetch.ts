import type { GuardedStream } from '../../workspace/net/guarded-stream.js'
import type { McpServerSpec } from '../server-options.js'
import { maxMessageBytes } from './line-reader.js'

export type HttpReach = Extract<McpServerSpec['reach'], { by: 'http' }>

/**
 * Returns a `fetch` for one server. It connects only to the configured host, public or private; with OAuth also to
 * public hosts over https, because the sign-in pages are there (SEC-183).
 */
export async function fetchFor({ url, oauth }: HttpReach): Promise<GuardedStream> {
  const { createGuardedStream } = await import('../../workspace/net/guarded-stream.js')
  const own = placesOf(url, oauth?.authUrl, oauth?.tokenUrl)
  return createGuardedStream({
    allowPrivate: own,
    maxBytes: maxMessageBytes,
    permitHost: (host, port) => {
      if (own.includes(`${host.includes(':') ? `[${host}]` : host}:${port}`)) return undefined
      if (oauth !== undefined && oauth.accessToken === undefined && port === 443) return undefined
      return 'the server is configured with another host'
    },
  })
}

function placesOf(...urls: readonly (URL | string | undefined)[]): string[] {
  return urls.flatMap((one) => {
    if (one === undefined || !URL.canParse(String(one))) return []
    const { protocol, hostname, port } = new URL(String(one))
    return [`${hostname.replace(/\.+$/, '')}:${port === '' ? (protocol === 'https:' ? 443 : 80) : port}`]
  })
}
