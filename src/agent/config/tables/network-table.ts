import { messageOf } from '../../../tool/errors.js'
import { bindSecrets } from '../../../workspace/egress/host-secrets.js'
import type { HostSecretConfig, NetworkConfig, NetworkLimitsConfig } from '../config.js'
import { entries, type Origin } from '../entries.js'
import { field, type Kind, type Shape } from '../field.js'
import { flag, flagOr, group, header, listOf, path, secret, text, whole } from '../kinds.js'
import { hostSecret } from '../session-network.js'

type SecretFields = Partial<Omit<HostSecretConfig, 'host'>>

const secretShape: Shape<SecretFields> = {
  value: field(secret, 'the secret; write `env("NAME")`'),
  file: field(
    path,
    'file with the secret, in place of `value`; read for each request, not accessible to tools and commands',
  ),
  header: field(header, 'name of the header (default: "authorization")'),
  prefix: field(text, 'text before the secret (default: "Bearer " without `header`, else nothing)'),
  plainHttp: field(flag, 'send it over plain http too (default: false)'),
}

const secrets: Kind<readonly HostSecretConfig[]> = entries({
  shape: secretShape,
  nameField: 'host',
  example: '"api.example.com" { ... }',
  make: makeSecret,
})

function makeSecret(host: string, fields: SecretFields, { reading, spot }: Origin): HostSecretConfig {
  const made = { host, ...fields }
  // The values are checked by the same code as in a session.
  try {
    bindSecrets([hostSecret(made)])
  } catch (error) {
    reading.fail(spot, messageOf(error))
  }
  return made
}

const limits: Shape<NetworkLimitsConfig> = {
  maxConnections: field(whole(1), 'connections at the same time (default: 256)'),
  idleMs: field(whole(1), 'how long a connection can be silent, in milliseconds (default: 120000)'),
  maxMs: field(whole(1), 'how long a connection can last, in milliseconds (default: 3600000)'),
  maxUploadBytes: field(whole(0), 'bytes that a command can send (default: 1 GiB)'),
  maxDownloadBytes: field(whole(0), 'bytes that a command can receive (default: 16 GiB)'),
}

export const network: Shape<NetworkConfig> = {
  allowHosts: field(listOf(text), 'hosts that commands can connect to (default: none)'),
  allowPrivate: field(
    flagOr(listOf(text)),
    'private addresses that commands and tools can connect to: `true`, or a list of hosts (default: none)',
  ),
  readOnly: field(
    flagOr(listOf(text)),
    'hosts that allow only GET and HEAD: `true` for all, or a list (default: false)',
  ),
  gitFetch: field(flag, 'allow git to read from read-only hosts (default: false)'),
  secrets: field(secrets, 'secret that the proxy adds for one host; its label is the host', 'secret'),
  certificates: field(path, 'PEM file with further certificate authorities for servers of inspected hosts'),
  limits: field(group(limits), 'limits of the network for one command'),
}
