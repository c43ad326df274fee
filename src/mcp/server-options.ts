import { isRecord } from '../tool/json.js'
import { McpError } from './errors.js'
import { serverLabel } from './names.js'

export type McpTransportName = 'stdio' | 'http' | 'streamable-http' | 'sse'

/** A server whose tools a session offers. What starts it, or where it is, comes from here alone and never from the server. */
export type McpServerOptions = {
  readonly name: string
  /** Left out: `stdio` with a command, `streamable-http` with a url. `http` is `streamable-http`, and falls back to `sse`. */
  readonly transport?: McpTransportName
  /** The program to start; no shell reads it. */
  readonly command?: string
  readonly args?: readonly string[]
  /** Inside the workspace; left out: its root. */
  readonly cwd?: string
  /** All the variables that the program has beside a fixed harmless list. */
  readonly env?: Readonly<Record<string, string>>
  readonly url?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly oauth?: McpOauthOptions
  /** `false`: it is known, and not used. */
  readonly enabled?: boolean
  /** How long a call may take; 60 seconds when left out. */
  readonly timeoutMs?: number
  /** How long it may take to start and say what it has; 30 seconds when left out. */
  readonly startTimeoutMs?: number
  /** Hosts that the program may reach when a sandbox confines it. None: no network. */
  readonly allowHosts?: readonly string[]
  /** Directories of the workspace that the program may write to when a sandbox confines it; `.` is all of it. */
  readonly writable?: readonly string[]
  /** Places that the program sees although the sandbox hides what is around them. */
  readonly readOnly?: readonly string[]
}

export type McpOauthOptions = {
  readonly authUrl?: string
  readonly tokenUrl?: string
  readonly clientId?: string
  readonly clientSecret?: string
  readonly scopes?: readonly string[]
  readonly redirectUri?: string
  /** A token that exists already; it is sent as it is and never refreshed. */
  readonly accessToken?: string
}

/** A server as it is used: checked, with every default in its place. */
export type McpServerSpec = {
  readonly name: string
  /** The server in the names of its tools. */
  readonly label: string
  readonly enabled: boolean
  readonly timeoutMs: number
  readonly startTimeoutMs: number
  readonly reach: McpReach
}

export type McpReach =
  | ({ readonly by: 'stdio'; readonly argv: readonly [string, ...string[]] } & Pick<
      McpServerOptions,
      'cwd' | 'env' | 'allowHosts' | 'writable' | 'readOnly'
    >)
  | ({
      readonly by: 'http'
      readonly url: URL
      readonly headers: Readonly<Record<string, string>>
      readonly sse: 'fallback' | 'only'
    } & Pick<McpServerOptions, 'oauth'>)

/** Reads what a host, a configuration or a file says of a server. Throws `McpError` that says which part cannot be used. */
export function readServer(given: unknown): McpServerSpec {
  if (!isRecord(given)) throw new McpError('mcp_config', 'An MCP server is described by an object.')
  // A transport may carry its own settings: { type, command, args, url, headers }.
  const { transport: way, ...rest } = given
  const options = isRecord(way) ? { ...rest, ...way, transport: way['type'], type: undefined } : given
  assertKnown(options)
  const name = text(options, 'name')
  const label = name === undefined ? undefined : serverLabel(name)
  if (name === undefined || label === undefined || name.length > 1_000)
    throw new McpError('mcp_config', 'An MCP server needs a name with at least one letter or digit.')
  const timeoutMs = number(options, 'timeoutMs') ?? seconds(options, 'toolTimeoutSecs') ?? 60_000
  return {
    name,
    label,
    enabled: options['enabled'] !== false,
    timeoutMs,
    startTimeoutMs: number(options, 'startTimeoutMs') ?? 30_000,
    reach: readReach(options),
  }
}

const known = new Set([
  ...['name', 'transport', 'type', 'command', 'args', 'cwd', 'env', 'url', 'headers', 'oauth', 'enabled'],
  ...['timeoutMs', 'toolTimeoutSecs', 'startTimeoutMs', 'allowHosts', 'writable', 'readOnly'],
])

type Given = Readonly<Record<string, unknown>>

function assertKnown(options: Given): void {
  const odd = Object.keys(options).find((key) => !known.has(key))
  if (odd !== undefined)
    throw new McpError(
      'mcp_config',
      `An MCP server has no option "${odd}". It has: ${[...known].join(', ')}.`,
    )
}

function readReach(options: Given): McpReach {
  const transport = transportOf(options)
  if (transport === 'stdio') {
    const command = text(options, 'command')
    if (command === undefined || command === '')
      throw new McpError('mcp_config', "'command' is required for stdio transport")
    if (command.includes('\0')) throw new McpError('mcp_config', "'command' holds a NUL character.")
    return {
      by: 'stdio',
      argv: [command, ...(texts(options, 'args') ?? [])],
      ...only('cwd', text(options, 'cwd')),
      ...only('env', strings(options, 'env')),
      ...only('allowHosts', texts(options, 'allowHosts')),
      ...only('writable', texts(options, 'writable')),
      ...only('readOnly', texts(options, 'readOnly')),
    }
  }
  const address = text(options, 'url')
  if (address === undefined || address === '')
    throw new McpError('mcp_config', "'url' is required for http transport")
  return {
    by: 'http',
    url: readUrl(address),
    headers: strings(options, 'headers') ?? {},
    sse: transport === 'sse' ? 'only' : 'fallback',
    ...only('oauth', isRecord(options['oauth']) ? (options['oauth'] as McpOauthOptions) : undefined),
  }
}

const transports: Readonly<Record<string, McpTransportName>> = {
  stdio: 'stdio',
  http: 'http',
  'streamable-http': 'streamable-http',
  streamable_http: 'streamable-http',
  streamableHttp: 'streamable-http',
  sse: 'sse',
}

function transportOf(options: Given): McpTransportName {
  const named = options['transport'] ?? options['type']
  if (named === undefined || named === null)
    return options['url'] !== undefined && options['command'] === undefined ? 'http' : 'stdio'
  const transport =
    typeof named === 'string' && Object.hasOwn(transports, named) ? transports[named] : undefined
  if (transport !== undefined) return transport
  const shown = typeof named === 'string' ? named.slice(0, 40) : typeof named
  throw new McpError('mcp_config', `Unknown transport '${shown}'. Use 'stdio', 'http', or 'streamable-http'`)
}

/** The address itself is not repeated: it may have been put in the wrong place, and be a secret. */
function readUrl(address: string): URL {
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw new McpError('mcp_config', "'url' must be an http or https address.")
  if (url.username !== '' || url.password !== '')
    throw new McpError('mcp_config', "'url' carries a user name or password: use 'headers' or 'oauth'.")
  return url
}

function only<Key extends string, Value>(
  key: Key,
  value: Value | undefined,
): { readonly [K in Key]?: Value } {
  return value === undefined ? {} : ({ [key]: value } as { readonly [K in Key]?: Value })
}

function text(options: Given, key: string): string | undefined {
  const value = options[key]
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'string') throw wrong(key, 'a string')
  return value
}

function texts(options: Given, key: string): readonly string[] | undefined {
  const value = options[key]
  if (value === undefined || value === null) return undefined
  if (!Array.isArray(value) || !value.every((one) => typeof one === 'string'))
    throw wrong(key, 'a list of strings')
  return value
}

function strings(options: Given, key: string): Readonly<Record<string, string>> | undefined {
  const value = options[key]
  if (value === undefined || value === null) return undefined
  if (!isRecord(value) || !Object.values(value).every((one) => typeof one === 'string'))
    throw wrong(key, 'an object of strings')
  return value as Record<string, string>
}

function number(options: Given, key: string): number | undefined {
  const value = options[key]
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'number' || !(value >= 1) || value > longestWaitMs)
    throw wrong(key, `a number from 1 to ${longestWaitMs}`)
  return value
}

function seconds(options: Given, key: string): number | undefined {
  const value = number(options, key)
  return value === undefined ? undefined : value * 1_000
}

const longestWaitMs = 86_400_000

function wrong(key: string, expected: string): McpError {
  return new McpError('mcp_config', `'${key}' of an MCP server must be ${expected}.`)
}
