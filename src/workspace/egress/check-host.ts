import { isIP } from 'node:net'
import { type AddressPolicy, refuseName } from '../net/address-guard.js'
import { NetError } from '../net/errors.js'
import { resolveChecked, systemResolver } from '../net/resolve.js'
import type { CheckHost } from './admission.js'

/**
 * Resolves hosts for the proxy of commands. Names of this machine and of metadata services, and private addresses, are
 * refused unless the policy of the host allows them. The connection goes to the address that was checked.
 */
export function checkHostBy(policyFor: (host: string, port: number) => AddressPolicy): CheckHost {
  return async (host, port) => {
    const policy = policyFor(host, port)
    const why = isIP(host) === 0 ? refuseName(host, policy) : undefined
    if (why !== undefined) throw new NetError('net_refused', `"${host}" is refused: it ${why}.`)
    const [first] = await resolveChecked(host, policy, systemResolver)
    if (first === undefined) throw new NetError('net_unresolved', `The host name "${host}" has no address.`)
    return first
  }
}
