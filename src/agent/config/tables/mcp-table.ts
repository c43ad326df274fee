import { mcpSandboxes, readServer } from '../../../mcp/server-options.js'
import { messageOf } from '../../../tool/errors.js'
import { type McpOauthConfig, type McpServerConfig, type McpTransport, mcpTransports } from '../config.js'
import { entries, type Origin } from '../entries.js'
import { field, type Kind, type Shape } from '../field.js'
import { address, flag, group, headers, listOf, secret, secretMap, text, whole, word } from '../kinds.js'

type ServerFields = Partial<Omit<McpServerConfig, 'name'>>

const oauth: Shape<McpOauthConfig> = {
  authUrl: field(address, 'where a person signs in'),
  tokenUrl: field(address, 'where tokens are given out'),
  clientId: field(text, 'who asks'),
  clientSecret: field(secret, 'the secret of who asks'),
  scopes: field(listOf(text), 'what is asked for'),
  redirectUri: field(text, 'where signing in leads back to'),
  accessToken: field(secret, 'a token that exists already'),
}

const server: Shape<ServerFields> = {
  transport: field(
    word(mcpTransports, { streamable_http: 'streamable-http', streamableHttp: 'streamable-http' }),
    'how to talk to it; left out, `stdio` with a command and `streamable-http` with a url',
  ),
  command: field(text, 'the program to start, for `stdio`'),
  args: field({ ...listOf(text), hidden: 'private' }, 'its arguments'),
  cwd: field(text, 'where the program runs, relative to the workspace; the workspace when left out'),
  description: field(text, 'what its tools are for; the model reads it in its instructions'),
  url: field(address, 'the address, for `http` and `streamable-http`'),
  headers: field(headers, 'headers of each request'),
  env: field(secretMap, 'variables of the environment of the program'),
  enabled: field(flag, 'whether it is used; true when left out'),
  toolTimeoutSecs: field(whole(1), 'how long a call may take, in seconds; 60 when left out'),
  sandbox: field(
    word(mcpSandboxes),
    '`workspace` confines the program to the workspace; left out it starts as written, unless one of the next three is given',
  ),
  allowHosts: field(listOf(text), 'hosts that a confined program may reach; none when left out'),
  writable: field(
    listOf(text),
    'directories of the workspace that a confined program may write to, `.` for all; none when left out',
  ),
  readOnly: field(
    listOf(text),
    'places that a confined program sees although the sandbox hides what is around them',
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
  const transport: McpTransport = fields.transport ?? (overUrl ? 'streamable-http' : 'stdio')
  const needed = transport === 'stdio' ? 'command' : 'url'
  // What is given and has no value has been told already.
  if (!from.given.has(needed)) {
    from.reading.fail(
      from.spot,
      `${from.spot.path}: "${needed}" is required for the transport "${transport}"`,
    )
  }
  const made = { name, ...fields, transport }
  // Values of the fields that are read here are checked where a session would check them.
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
