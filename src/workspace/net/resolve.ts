import { isIP } from 'node:net'
import { type AddressPolicy, refuseAddress } from './address-guard.js'
import { NetError } from './errors.js'

export type Address = { readonly address: string; readonly family: number }
export type Resolver = (host: string) => Promise<readonly Address[]>

/**
 * Returns the addresses that a host can be connected at. A name is resolved once, here, and all its addresses must
 * pass: a name with one private address among public ones is refused, because it is not known which one a client uses.
 */
export async function resolveChecked(
  host: string,
  policy: AddressPolicy,
  resolver: Resolver,
): Promise<readonly Address[]> {
  const family = isIP(host)
  const addresses = family === 0 ? await lookup(host, resolver) : [{ address: host, family }]
  for (const { address } of addresses) {
    const why = refuseAddress(address, policy)
    if (why !== undefined) {
      throw new NetError('net_refused', `"${host}" is refused: its address ${address} ${why}.`)
    }
  }
  return addresses
}

/** The system's resolver, including the hosts file. */
export const systemResolver: Resolver = async (host) => {
  const dns = await import('node:dns')
  return dns.promises.lookup(host, { all: true })
}

async function lookup(host: string, resolver: Resolver): Promise<readonly Address[]> {
  let addresses: readonly Address[]
  try {
    addresses = await resolver(host)
  } catch (cause) {
    throw new NetError('net_unresolved', `The host name "${host}" cannot be resolved. Is it spelled right?`, {
      cause,
    })
  }
  if (addresses.length > 0) return addresses
  throw new NetError('net_unresolved', `The host name "${host}" has no address.`)
}
