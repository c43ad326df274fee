import { omitUndefined } from '../../tool/omit-undefined.js'
import type { NetworkConfig } from './config.js'

/**
 * Merges the command network settings with those of a file that came with a workspace or an agent. The file can only
 * remove hosts from the host's list and make more of them read-only. It cannot allow hosts, or add secrets and
 * certificate authorities.
 */
export function stricterNetwork(
  host: NetworkConfig | undefined,
  own: NetworkConfig | undefined,
): NetworkConfig | undefined {
  if (host === undefined || own === undefined) return host
  const { allowHosts, readOnly, gitFetch } = own
  return omitUndefined({
    ...host,
    allowHosts:
      allowHosts === undefined
        ? host.allowHosts
        : host.allowHosts?.filter((each) => allowHosts.includes(each)),
    readOnly: readOnlyBoth(host.readOnly, readOnly),
    gitFetch: gitFetch === false ? false : host.gitFetch,
  })
}

function readOnlyBoth(
  host: NetworkConfig['readOnly'] = false,
  own: NetworkConfig['readOnly'] = false,
): NetworkConfig['readOnly'] {
  if (host === true || own === true) return true
  return [...new Set([...(host === false ? [] : host), ...(own === false ? [] : own)])]
}
