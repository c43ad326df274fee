import { PatternError } from './pattern-error.js'

/** A host in the form used to connect: lower case, IDNA, addresses in one spelling; with the port if it is known. */
export type Host = { readonly name: string; readonly port?: number | undefined }

/** A compiled host pattern. */
export type HostPattern = {
  readonly text: string
  readonly kind: 'exact' | 'subdomains' | 'any'
  readonly name: string
  readonly port?: number | undefined
  readonly specificity: number
}

/**
 * Parses a host pattern: a name or address, `*.example.com` for its subdomains (not itself), or `*`; each with
 * `:port`, or without a port for any port. Throws `PatternError`.
 *
 * @example
 * matchesHost(compileHostPattern('*.example.com'), parseHost('api.example.com'), 'permit') // true
 */
export function compileHostPattern(text: string): HostPattern {
  const { star, rest } = splitStar(text)
  const wild = rest.indexOf('*')
  if (wild >= 0)
    throw new PatternError(text, text.length - rest.length + wild, 'A star that is not a whole first label')
  if (star === 'any') {
    const port = rest.startsWith(':') ? readPort(rest.slice(1)) : undefined
    if (rest !== '' && port === undefined) throw new PatternError(text, 1, 'Something other than a port')
    return {
      text,
      kind: 'any',
      name: '',
      port,
      specificity: port === undefined ? 0 : 1,
    }
  }
  // A host pattern cannot check a scheme or a path, so it must not contain one.
  const slash = rest.indexOf('/')
  if (slash >= 0) throw new PatternError(text, text.length - rest.length + slash, 'Not a host')
  const host = parseHost(rest)
  if (host === undefined) throw new PatternError(text, 0, 'Not a host')
  if (star === 'subdomains' && isAddress(host.name))
    throw new PatternError(text, 0, 'An address has no subdomains')
  const literals = host.name.length * 2 + (host.port === undefined ? 0 : 1)
  return {
    text,
    kind: star === 'subdomains' ? 'subdomains' : 'exact',
    name: host.name,
    port: host.port,
    specificity: literals * 2 + (star === 'subdomains' ? 0 : 1),
  }
}

/**
 * Parses a host, `host:port` or URL as the network will read it. Returns undefined when it must not be connected to:
 * no host, credentials before it, NUL or other control characters, an escape that decodes to one. Never throws.
 */
export function parseHost(text: string): Host | undefined {
  // Resolvers written in C stop at NUL, and decisions written in JavaScript do not (the SOCKS proxy bug of 2026).
  if (text === '' || text.length > maxHostLength || hasControl(text)) return undefined
  if (/[\s\\@%]/.test(authorityOf(text))) return undefined
  const isUrl = /^[a-z][a-z0-9+.-]*:\/\//i.test(text)
  const written = isUrl ? authorityOf(text) : bracketed(text)
  // Parsed as `http` for every scheme: only then does the parser apply IDNA and normalise addresses.
  const address = `http://${written}`
  if (!URL.canParse(address)) return undefined
  const { hostname, pathname, search, hash } = new URL(address)
  if (pathname !== '/' || search !== '' || hash !== '') return undefined
  const name = hostname.replace(/\.$/, '')
  if (name === '' || name.includes('*') || name.startsWith('.') || name.includes('..')) return undefined
  const port = readPort(/:(\d+)$/.exec(written)?.[1] ?? '') ?? (isUrl ? defaultPort(text) : undefined)
  return { name, port }
}

/**
 * Returns whether a host matches. When the port of a call is not known, a pattern with a port restricts the call and
 * does not permit it: the doubt counts against the call in both cases.
 */
export function matchesHost(
  pattern: HostPattern,
  host: Host | undefined,
  use: 'permit' | 'restrict',
): boolean {
  if (host === undefined) return use === 'restrict'
  if (pattern.port !== undefined && pattern.port !== host.port) {
    if (host.port !== undefined || use === 'permit') return false
  }
  if (pattern.kind === 'any') return true
  if (pattern.kind === 'exact') return host.name === pattern.name
  return host.name.endsWith(pattern.name) && host.name[host.name.length - pattern.name.length - 1] === '.'
}

/** Returns how specific a host pattern is, for ranking rules. */
export function hostPatternSpecificity(pattern: HostPattern): number {
  return pattern.specificity
}

const maxHostLength = 2048

function defaultPort(url: string): number | undefined {
  if (/^(http|ws):/i.test(url)) return 80
  return /^(https|wss):/i.test(url) ? 443 : undefined
}

function splitStar(text: string): { star: 'none' | 'subdomains' | 'any'; rest: string } {
  if (text.startsWith('*.')) return { star: 'subdomains', rest: text.slice(2) }
  if (text.startsWith('*')) return { star: 'any', rest: text.slice(1) }
  return { star: 'none', rest: text }
}

/** Returns the part of the text that names the host; unusual characters are a reason to reject only there. */
function authorityOf(text: string): string {
  const start = text.indexOf('://')
  const rest = start < 0 ? text : text.slice(start + 3)
  const end = rest.search(/[/?#]/)
  return end < 0 ? rest : rest.slice(0, end)
}

/** Adds brackets to an IPv6 address that has none. */
function bracketed(text: string): string {
  return /^[0-9a-f:.]+$/i.test(text) && text.split(':').length > 2 ? `[${text}]` : text
}

function readPort(text: string): number | undefined {
  if (!/^\d{1,5}$/.test(text)) return undefined
  const port = Number(text)
  return port > 0 && port < 65_536 ? port : undefined
}

function isAddress(name: string): boolean {
  return name.startsWith('[') || /^\d+\.\d+\.\d+\.\d+$/.test(name)
}

function hasControl(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code < 0x20 || code === 0x7f) return true
  }
  return false
}
