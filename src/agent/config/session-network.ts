import { readFileSync } from 'node:fs'
import { omitUndefined } from '../../tool/omit-undefined.js'
import type { HostSecret } from '../../workspace/egress/network-options.js'
import type { NetworkOptions } from '../../workspace/open-workspace.js'
import type { HostSecretConfig, NetworkConfig } from './config.js'

/** The network of a configuration as the option of a session. Throws when the file of certificates cannot be read. */
export function sessionNetwork(config: NetworkConfig | undefined): NetworkOptions | undefined {
  if (config === undefined) return undefined
  const { secrets, certificates, ...rest } = config
  return omitUndefined({
    ...rest,
    secrets: secrets?.map(hostSecret),
    certificates: certificates === undefined ? undefined : readFileSync(certificates, 'utf8'),
  })
}

/** The entry of a configuration or the command line as the proxy takes it: a bearer token unless it says otherwise. */
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
