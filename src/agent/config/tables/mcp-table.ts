import type { McpTransportName } from '../../../mcp/server-options.js'
import { mcpSandboxes, readServer } from '../../../mcp/server-options.js'
import { messageOf } from '../../../tool/errors.js'
import { type McpOauthConfig, type McpServerConfig, mcpTransports } from '../config.js'
import { entries, type Origin } from '../entries.js'
import { field, type Kind, type Shape } from '../field.js'
import { address, flag, group, headers, listOf, secret, secretMap, text, whole, word } from '../kinds.js'

type ServerFields = Partial<Omit<McpServerConfig, 'name'>>

const oauth: Shape<McpOauthConfig> = {
  authUrl: field(address, 'URL where the user signs in'),
  tokenUrl: field(address, 'URL that issues tokens'),
  clientId: field(text, 'client id'),
  clientSecret: field(secret, 'client secret'),
  scopes: field(listOf(text), 'requested scopes'),
  redirectUri: field(text, 'URL to return to after the sign-in'),
  accessToken: field(secret, 'an existing access token'),
}

const server: Shape<ServerFields> = {
  transport: field(
    word(mcpTransports, { streamable_http: 'streamable-http', streamableHttp: 'streamable-http' }),
    'transport (default: `stdio` with a command, `streamable-http` with a url)',
  ),
  command: field(text, 'program to start, for `stdio`'),
  args: field({ ...listOf(text), hidden: 'private' }, 'arguments of the program'),
  cwd: field(text, 'working directory of the program, relative to the workspace (default: the workspace)'),
  description: field(text, 'purpose of its tools; part of the instructions of the model'),
  url: field(address, 'URL, for `http` and `streamable-http`'),
  headers: field(headers, 'headers of each request'),
  env: field(secretMap, 'environment variables of the program'),
  enabled: field(flag, 'use this server (default: true)'),
  toolTimeoutSecs: field(whole(1), 'time limit of a call, in seconds (default: 60)'),
  sandbox: field(
    word(mcpSandboxes),
    '`workspace` confines the program to the workspace (default: not confined, unless one of the next three fields is set)',
  ),
  allowHosts: field(listOf(text), 'hosts that a confined program can connect to (default: none)'),
  writable: field(
    listOf(text),
    'directories of the workspace that a confined program can write to, `.` for all (default: none)',
  ),
  readOnly: field(
    listOf(text),
    'paths that a confined program can read although the sandbox hides their parent directories',
  ),
  oauth: field(group(oauth), 'how to sign in'),
}

export const mcpServers: Kind<readonly McpServerConfig[]> = entries({
  shape: server,
  nameField: 'name',
  example: '"files" { ... }',
  make: makeServer,
})

function makeServer(name: string, fields: ServerFields, from: Origin): McpServerConfig {
  const overUrl = from.given.has('url') && !from.given.has('command')
  const transport: McpTransportName = fields.transport ?? (overUrl ? 'streamable-http' : 'stdio')
  const needed = transport === 'stdio' ? 'command' : 'url'
  // A field that is given without a value was already reported.
  if (!from.given.has(needed)) {
    from.reading.fail(
      from.spot,
      `${from.spot.path}: "${needed}" is required for the transport "${transport}"`,
    )
  }
  const made = { name, ...fields, transport }
  // The values are checked by the same code as in a session.
  if (from.given.has(needed) && confining.some((field) => from.given.has(field))) {
    try {
      readServer({ ...made, command: fields.command ?? 'command', url: fields.url ?? 'http://address' })
    } catch (error) {
      from.reading.fail(from.spot, `${from.spot.path}: ${messageOf(error)}`)
    }
  }
  return made
}

const confining = ['sandbox', 'allowHosts', 'allow_hosts', 'writable', 'readOnly', 'read_only']
