import { isRecord } from '../tool/json.js'
import { SupervisionError } from './errors.js'

/** Options of every transport to a supervisor. */
export type AhpOptions = {
  /**
   * What happens to calls and prompts while the supervisor cannot be reached: they are refused (the default), or
   * continue without it. A request that was sent and got no answer is refused in both cases.
   */
  readonly onDisconnect?: 'deny' | 'continue'
  /**
   * The time limit for connecting, and for each answer, in milliseconds. Default: 10,000; the supervisor can request
   * less.
   */
  readonly timeoutMs?: number
  /**
   * How long a decision can be deferred in total before the user is asked instead, in milliseconds. Default: 30,000.
   */
  readonly maxDeferMs?: number
  /** The maximum size of a message in both directions, in bytes. Default: 1,048,576. */
  readonly maxMessageBytes?: number
  /**
   * The first pause in milliseconds before an unreachable supervisor is tried again; it doubles up to 30 seconds.
   * Default: 500.
   */
  readonly reconnectMs?: number
  /** How often the session sends a heartbeat, in milliseconds; 0: never. Default: 30,000. */
  readonly heartbeatMs?: number
}

/** Options of `StdioTransport`. */
export type StdioTransportOptions = AhpOptions & {
  /** Its variables, in addition to a fixed list of harmless ones. Nothing else is inherited. */
  readonly env?: Readonly<Record<string, string>>
  /** Its working directory. Default: that of the host, never the workspace. */
  readonly cwd?: string
}

export type AhpSettings = Required<AhpOptions>

/** A supervisor over HTTP: one request for each message. The token is in the `Authorization` header. */
export class HttpTransport {
  readonly kind = 'http'
  readonly url: string

  constructor(url: string, token?: string | null, options?: AhpOptions) {
    this.url = readUrl('HttpTransport', url, ['http:', 'https:'])
    hold(this, 'HttpTransport', readToken('HttpTransport', token), options)
  }
}

/** A supervisor over a WebSocket. The token is in the `Authorization` header of the first request. */
export class WebSocketTransport {
  readonly kind = 'websocket'
  readonly url: string

  constructor(url: string, token?: string | null, options?: AhpOptions) {
    this.url = readUrl('WebSocketTransport', url, ['ws:', 'wss:'])
    hold(this, 'WebSocketTransport', readToken('WebSocketTransport', token), options)
  }
}

/** A supervisor that is started with the session and ends with it; messages are lines of JSON over its streams. */
export class StdioTransport {
  readonly kind = 'stdio'
  readonly program: string
  readonly args: readonly string[]
  readonly cwd: string | undefined

  constructor(program: string, args: readonly string[] = [], options: StdioTransportOptions = {}) {
    const { env = {}, cwd, ...rest } = isRecord(options) ? options : {}
    if (!isText(program)) throw wrong('StdioTransport', 'the program must be a text that is not empty')
    if (!Array.isArray(args) || !args.every((one) => typeof one === 'string' && !one.includes('\0')))
      throw wrong('StdioTransport', 'the arguments must be a list of strings')
    if (!isRecord(env) || !Object.values(env).every((one) => typeof one === 'string'))
      throw wrong('StdioTransport', 'env must be an object of strings')
    if (cwd !== undefined && !isText(cwd)) throw wrong('StdioTransport', 'cwd must be a directory')
    this.program = program
    this.args = [...args]
    this.cwd = cwd
    hold(this, 'StdioTransport', undefined, rest, { ...env })
  }
}

/** A supervisor on a Unix socket of this machine; messages are lines of JSON. */
export class UnixSocketTransport {
  readonly kind = 'unix_socket'
  readonly path: string

  constructor(path: string, options?: AhpOptions) {
    if (!isText(path)) throw wrong('UnixSocketTransport', 'the path must be a text that is not empty')
    this.path = path
    hold(this, 'UnixSocketTransport', undefined, options)
  }
}

/** A transport to a supervisor. */
export type AhpTransport = HttpTransport | WebSocketTransport | StdioTransport | UnixSocketTransport

export function isTransport(value: unknown): value is AhpTransport {
  return typeof value === 'object' && value !== null && held.has(value)
}

export function settingsOf(transport: AhpTransport): AhpSettings {
  return { ...defaults, ...held.get(transport)?.options }
}

export function tokenOf(transport: AhpTransport): string | undefined {
  return held.get(transport)?.token
}

export function envOf(transport: StdioTransport): Readonly<Record<string, string>> {
  return held.get(transport)?.env ?? {}
}

/** The values that must not appear in any message. */
export function secretsOf(transport: AhpTransport): readonly string[] {
  const token = tokenOf(transport)
  const values = [
    ...(token === undefined ? [] : [token]),
    ...(transport.kind === 'stdio' ? Object.values(envOf(transport)) : []),
  ]
  // Short ones are words like `1` or `true`, which occur in every text.
  return values.filter((value) => value.length >= 6).sort((a, b) => b.length - a.length)
}

/** Returns a warning when the token would be sent over a network without encryption. */
export function openTokenProblem(transport: AhpTransport): string | undefined {
  if (!('url' in transport) || tokenOf(transport) === undefined) return undefined
  const { protocol, hostname, host } = new URL(transport.url)
  if (protocol === 'https:' || protocol === 'wss:' || loopback.test(hostname)) return undefined
  return `The token goes to ${host} without encryption: use ${protocol === 'ws:' ? 'wss' : 'https'}.`
}

const loopback = /^(localhost|.*\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/

type Held = {
  readonly token: string | undefined
  readonly env: Readonly<Record<string, string>>
  readonly options: AhpOptions
}

/** Stored outside the objects, so that printing or serializing one does not show its token. */
const held = new WeakMap<object, Held>()

const defaults: AhpSettings = {
  onDisconnect: 'deny',
  timeoutMs: 10_000,
  maxDeferMs: 30_000,
  maxMessageBytes: 1024 * 1024,
  reconnectMs: 500,
  heartbeatMs: 30_000,
}

const least: Readonly<Record<string, number>> = {
  timeoutMs: 1,
  maxDeferMs: 0,
  maxMessageBytes: 1024,
  reconnectMs: 0,
  heartbeatMs: 0,
}
const most = 2 ** 31 - 1

function hold(
  transport: object,
  name: string,
  token: string | undefined,
  given: unknown,
  env: Held['env'] = {},
): void {
  if (given !== undefined && given !== null && !isRecord(given))
    throw wrong(name, 'the options must be an object')
  const options: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(given ?? {})) {
    if (value === undefined || value === null) continue
    if (!Object.hasOwn(defaults, key))
      throw wrong(name, `there is no option "${key}"; there are ${Object.keys(defaults).join(', ')}`)
    const problem = key === 'onDisconnect' ? wordProblem(value) : numberProblem(value, least[key] ?? 0)
    if (problem !== undefined) throw wrong(name, `${key} must be ${problem}`)
    options[key] = value
  }
  held.set(transport, { token, env, options: options as AhpOptions })
}

function wordProblem(value: unknown): string | undefined {
  return value === 'deny' || value === 'continue' ? undefined : "'deny' or 'continue'"
}

function numberProblem(value: unknown, low: number): string | undefined {
  const fits = typeof value === 'number' && Number.isInteger(value) && value >= low && value <= most
  return fits ? undefined : `a whole number from ${low} to ${most}`
}

/** The address is not repeated in errors: it may contain a secret. */
function readUrl(name: string, given: unknown, protocols: readonly string[]): string {
  const url = typeof given === 'string' && URL.canParse(given) ? new URL(given) : undefined
  if (url === undefined || !protocols.includes(url.protocol))
    throw wrong(name, `the url must begin with ${protocols.map((one) => `${one}//`).join(' or ')}`)
  if (url.username !== '' || url.password !== '')
    throw wrong(name, 'the url carries a user name or password; give the token as the second argument')
  const telling = [...url.searchParams.keys()].find((key) => secretNames.test(key))
  if (telling !== undefined)
    throw wrong(
      name,
      `the url carries "${telling}" in its query, where logs and proxies see it; give the token as the second argument`,
    )
  url.hash = ''
  return url.href
}

const secretNames =
  /token|secret|passw|credential|signature|jwt|bearer|authorization|(?:api|access|auth)[-_.]?key|^(?:auth|key|pwd|sig)$/i

function readToken(name: string, token: unknown): string | undefined {
  if (token === undefined || token === null || token === '') return undefined
  // An invalid header value would be quoted, with the token, in the error of the request.
  if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token))
    throw wrong(name, 'the token must be visible ASCII characters without spaces')
  return token
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && !value.includes('\0')
}

function wrong(name: string, problem: string): SupervisionError {
  return new SupervisionError('supervision_config', `${name}: ${problem}.`)
}
