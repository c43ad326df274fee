import { normalize } from 'node:path'
import { messageOf } from '../tool/errors.js'
import { isRecord } from '../tool/json.js'
import { hostRules } from '../workspace/egress/host-rules.js'
import { McpError } from './errors.js'
import { serverLabel } from './names.js'

/** The transport to an MCP server. */
export type McpTransportName = 'stdio' | 'http' | 'streamable-http' | 'sse'

/** An MCP server whose tools a session offers. Its command or address never comes from the server itself. */
export type McpServerOptions = {
  readonly name: string
  /**
   * Default: `stdio` with a command, `streamable-http` with a url. `http` is `streamable-http` with a fallback to
   * `sse`.
   */
  readonly transport?: McpTransportName
  /** The program to start, without a shell. */
  readonly command?: string
  readonly args?: readonly string[]
  /** What its tools are for. The model reads it in the system prompt. */
  readonly description?: string
  /** Relative to the workspace; default: its root. A confined program must stay inside the workspace. */
  readonly cwd?: string
  /**
   * The variables of the program, in addition to `HOME`, `PATH`, locale and the like. No keys of the host are
   * inherited.
   */
  readonly env?: Readonly<Record<string, string>>
  readonly url?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly oauth?: McpOauthOptions
  /** `false`: the server is listed and not used. */
  readonly enabled?: boolean
  /** The time limit of a call, in milliseconds. Default: 60,000. */
  readonly timeoutMs?: number
  /** The time limit for the start and the first list of tools, in milliseconds. Default: 30,000. */
  readonly startTimeoutMs?: number
  /**
   * `workspace`: the program runs in a sandbox and reads only the workspace; without a sandbox it is not started.
   * `off`, the default: it starts as written, with network and the user's home directory. An entry with one of the next
   * three options is confined.
   */
  readonly sandbox?: McpSandbox
  /** Hosts that a confined program can connect to. Absent: no network. */
  readonly allowHosts?: readonly string[]
  /** Directories of the workspace that a confined program can write to; `.` is all of it. */
  readonly writable?: readonly string[]
  /** Paths that a confined program can read although the sandbox hides what is around them. */
  readonly readOnly?: readonly string[]
}

/** Whether the program of an MCP server runs in the sandbox of the workspace, or unconfined. */
export type McpSandbox = (typeof mcpSandboxes)[number]
export const mcpSandboxes = ['workspace', 'off'] as const

/** OAuth settings of an MCP server. Settings that are not given are discovered from the server. */
export type McpOauthOptions = {
  readonly authUrl?: string
  readonly tokenUrl?: string
  readonly clientId?: string
  readonly clientSecret?: string
  readonly scopes?: readonly string[]
  readonly redirectUri?: string
  /** An existing token; it is sent unchanged and never refreshed. */
  readonly accessToken?: string
}

/** A server entry after validation, with all defaults applied. */
export type McpServerSpec = {
  readonly name: string
  /** The server's part in the names of its tools. */
  readonly label: string
  readonly description?: string
  readonly enabled: boolean
  readonly timeoutMs: number
  readonly startTimeoutMs: number
  readonly reach: McpReach
}

export type StdioReach = {
  readonly by: 'stdio'
  readonly argv: readonly [string, ...string[]]
  readonly sandbox: McpSandbox
  /** Whether the entry came with the workspace. */
  readonly fromWorkspace?: boolean
} & Pick<McpServerOptions, 'cwd' | 'env' | 'allowHosts' | 'writable' | 'readOnly'>

export type McpReach =
  | StdioReach
  | ({
      readonly by: 'http'
      readonly url: URL
      readonly headers: Readonly<Record<string, string>>
      readonly sse: 'fallback' | 'only'
    } & Pick<McpServerOptions, 'oauth'>)

/**
 * Reads the entry of a server from a host, a configuration or a file. Throws `McpError` that names the invalid part.
 * An entry that came with the workspace is confined unless it says otherwise.
 */
export function readServer(given: unknown, from: 'host' | 'workspace' = 'host'): McpServerSpec {
  if (!isRecord(given)) throw new McpError('mcp_config', 'An MCP server is described by an object.')
  // A transport can contain its own settings: { type, command, args, url, headers }.
  const { transport: way, ...rest } = given
  const options = isRecord(way) ? { ...rest, ...way, transport: way['type'], type: undefined } : given
  assertKnown(options)
  const name = text(options, 'name')
  const label = name === undefined ? undefined : serverLabel(name)
  if (name === undefined || label === undefined || name.length > 1_000)
    throw new McpError('mcp_config', 'An MCP server needs a name with at least one letter or digit.')
  const description = text(options, 'description')?.trim()
  const enabled = options['enabled'] ?? true
  if (typeof enabled !== 'boolean') throw wrong('enabled', 'true or false')
  const timeoutMs = number(options, 'timeoutMs') ?? seconds(options, 'toolTimeoutSecs') ?? 60_000
  return {
    name,
    label,
    ...(description !== undefined && description !== '' && { description }),
    enabled,
    timeoutMs,
    startTimeoutMs: number(options, 'startTimeoutMs') ?? 30_000,
    reach: readReach(options, from),
  }
}

const known = new Set([
  ...['name', 'transport', 'type', 'command', 'args', 'cwd', 'env', 'url', 'headers', 'oauth', 'enabled'],
  ...['description', 'timeoutMs', 'toolTimeoutSecs', 'startTimeoutMs'],
  ...['sandbox', 'allowHosts', 'writable', 'readOnly'],
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

function readReach(options: Given, from: 'host' | 'workspace'): McpReach {
  const transport = transportOf(options)
  if (transport === 'stdio') {
    const command = text(options, 'command')
    if (command === undefined || command === '')
      throw new McpError('mcp_config', "'command' is required for stdio transport")
    if (command.includes('\0')) throw new McpError('mcp_config', "'command' contains a NUL character.")
    return {
      by: 'stdio',
      argv: [command, ...(texts(options, 'args') ?? [])],
      ...readConfinement(options, from),
      ...(from === 'workspace' && { fromWorkspace: true }),
      ...only('cwd', text(options, 'cwd')),
      ...only('env', strings(options, 'env')),
    }
  }
  const own = confinementNames.find((name) => options[name] !== undefined && options[name] !== null)
  if (own !== undefined)
    throw new McpError('mcp_config', `'${own}' of an MCP server applies to programs, and not to an address.`)
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

const confinementNames = ['sandbox', 'allowHosts', 'writable', 'readOnly'] as const

function readConfinement(
  options: Given,
  from: 'host' | 'workspace',
): Pick<StdioReach, (typeof confinementNames)[number]> {
  const allowHosts = texts(options, 'allowHosts')
  const writable = texts(options, 'writable')
  const readOnly = texts(options, 'readOnly')
  const written = text(options, 'sandbox')
  const named = mcpSandboxes.find((one) => one === written)
  if (written !== undefined && named === undefined)
    throw wrong('sandbox', mcpSandboxes.map((one) => `'${one}'`).join(' or '))
  // An entry with permissions for a confined program is confined.
  const isConfined = (allowHosts ?? writable ?? readOnly) !== undefined || from === 'workspace'
  const sandbox = named ?? (isConfined ? 'workspace' : 'off')
  const needless = confinementNames.find((name) => name !== 'sandbox' && options[name] != null)
  if (sandbox === 'off' && needless !== undefined)
    throw new McpError(
      'mcp_config',
      `'${needless}' of an MCP server has no effect with sandbox 'off'. Remove it, or set sandbox to 'workspace'.`,
    )
  try {
    hostRules(allowHosts ?? [])
  } catch (error) {
    throw new McpError('mcp_config', `'allowHosts' of an MCP server: ${messageOf(error)}`)
  }
  for (const [name, places = []] of Object.entries({ writable, readOnly }))
    if (places.some((place) => place === '' || place.includes('\0'))) throw wrong(name, 'a list of paths')
  if (writable?.some((place) => /^\.\.(?:\/|$)/.test(normalize(place))))
    throw wrong('writable', 'a list of directories inside the workspace')
  return {
    sandbox,
    ...only('allowHosts', allowHosts),
    ...only('writable', writable),
    ...only('readOnly', readOnly),
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

/** The address is not repeated in errors: it may be a secret that was put in the wrong field. */
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
  if (typeof value !== 'number' || !(value >= 1) || value > maxWaitMs)
    throw wrong(key, `a number from 1 to ${maxWaitMs}`)
  return value
}

function seconds(options: Given, key: string): number | undefined {
  const value = number(options, key)
  return value === undefined ? undefined : value * 1_000
}

const maxWaitMs = 86_400_000

function wrong(key: string, expected: string): McpError {
  return new McpError('mcp_config', `'${key}' of an MCP server must be ${expected}.`)
}

/** The servers of the option `mcpServers`, each with its name. */
export function listServers(
  servers: Readonly<Record<string, object>> | readonly object[] | undefined,
): readonly object[] {
  if (servers === undefined) return []
  return Array.isArray(servers)
    ? servers
    : Object.entries(servers).map(([name, given]) => ({ ...given, name }))
}
