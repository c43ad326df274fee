import { parseHost } from '../../authority/host-pattern.js'
import type { AddressPolicy } from './address-guard.js'
import { NetError } from './errors.js'

/** Which private addresses may be reached: all, none (the default), or exactly these hosts, `host` or `host:port`. */
export type AllowPrivate = boolean | readonly string[]

/**
 * Reads the option once and gives the policy for each destination. The host must be the very one that was named:
 * neither what is below it nor a name that leads to the same address. Throws `NetError` for an entry that is not a
 * host.
 *
 * @example
 * const policyFor = privateAccess(['search.lan:8888'])
 * policyFor('search.lan', 8888) // { allowPrivate: true }
 */
export function privateAccess(allowed: AllowPrivate = false): (host: string, port?: number) => AddressPolicy {
  if (typeof allowed === 'boolean') return () => ({ allowPrivate: allowed })
  const entries = allowed.map(readEntry)
  return (host, port) => {
    const name = parseHost(host)?.name
    const named = (entry: (typeof entries)[number]): boolean =>
      entry.name === name && (entry.port === undefined || entry.port === port)
    return { allowPrivate: name !== undefined && entries.some(named) }
  }
}

function readEntry(entry: string): { readonly name: string; readonly port?: number | undefined } {
  const host = /[*/]/.test(entry) ? undefined : parseHost(entry)
  if (host !== undefined) return host
  throw new NetError(
    'net_request_invalid',
    `allowPrivate lists hosts, each a name or address with or without a port; ${JSON.stringify(entry)} is not one.`,
  )
}
