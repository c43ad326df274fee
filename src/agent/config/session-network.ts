import { readFileSync } from 'node:fs'
import { omitUndefined } from '../../tool/omit-undefined.js'
import type { HostSecret } from '../../workspace/egress/network-options.js'
import type { NetworkOptions } from '../../workspace/open-workspace.js'
import type { HostSecretConfig, NetworkConfig } from './config.js'

/** Converts the network of a configuration to the session option. Throws when the certificate file cannot be read. */
export function sessionNetwork(config: NetworkConfig | undefined): NetworkOptions | undefined {
  if (config === undefined) return undefined
  const { secrets, certificates, ...rest } = config
  return omitUndefined({
    ...rest,
    secrets: secrets?.map(hostSecret),
    certificates: certificates === undefined ? undefined : readFileSync(certificates, 'utf8'),
  })
}

/**
 * Converts a secret of the configuration or the command line to the proxy's format. Without a header or prefix, it is a
 * bearer token.
 */
export function hostSecret({ host, value, file, header, prefix, plainHttp }: HostSecretConfig): HostSecret {
  const before = prefix ?? (header === undefined ? 'Bearer ' : '')
  return omitUndefined({
    host,
    header: header ?? 'authorization',
    value: value === undefined ? undefined : `${before}${value}`,
    file,
    prefix: file === undefined ? undefined : before,
    plainHttp,
  })
}
