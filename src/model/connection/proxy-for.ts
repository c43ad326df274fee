import { ModelError } from '../errors.js'
import { isLoopback } from './loopback.js'

type Variables = Readonly<Record<string, string | undefined>>

/**
 * Returns the proxy for requests to a URL; undefined when they are sent directly. A configured proxy applies to every
 * URL, `off` to none. Without one, `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` decide, and requests to this machine are
 * never sent to a proxy.
 */
export function proxyFor(address: URL, configured: string | undefined, env: Variables): URL | undefined {
  if (configured !== undefined) return configured === 'off' ? undefined : proxyUrl(configured, 'proxy')
  const name = address.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY'
  const value = variable(name, env)
  if (value === '' || isLoopback(address) || isExcepted(address, variable('NO_PROXY', env))) return undefined
  return proxyUrl(value, name)
}

/** Reads a variable. The lower-case name takes precedence, as in curl. */
function variable(name: string, env: Variables): string {
  return (env[name.toLowerCase()] ?? env[name] ?? '').trim()
}

/** Parses the URL of a proxy. Errors do not quote the value, because it can contain a password. */
function proxyUrl(value: string, name: string): URL {
  const text = /^[a-z][a-z\d+.-]*:\/\//i.test(value) ? value : `http://${value}`
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url !== undefined && /^https?:$/.test(url.protocol) && url.hostname !== '') return url
  throw new ModelError(
    'model_unavailable',
    `The proxy in ${name} is not an http(s) URL: write it as http://host:port, or unset it`,
  )
}

/**
 * Returns whether `NO_PROXY` contains an address. Entries are separated by commas or spaces: `*`, a host, `.suffix`,
 * `*.suffix`, or an IP address, each optionally with a port.
 */
function isExcepted(address: URL, list: string): boolean {
  const host = plainHost(address.hostname)
  const port = address.port || (address.protocol === 'https:' ? '443' : '80')
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .some((entry) => entry !== '' && matches(entry, host, port))
}

function matches(entry: string, host: string, port: string): boolean {
  if (entry === '*') return true
  const [, named = '', only] = /^(\[[^\]]*\]|[^:]*):(\d+)$/.exec(entry) ?? [undefined, entry]
  if (only !== undefined && only !== port) return false
  const wanted = plainHost(named)
  if (wanted === '') return false
  if (!/^\*?\./.test(wanted)) return host === wanted
  const suffix = wanted.replace(/^\*/, '')
  return host.endsWith(suffix) || host === suffix.slice(1)
}

function plainHost(host: string): string {
  return host.replace(/^\[|\]$/g, '').replace(/\.$/, '')
}
