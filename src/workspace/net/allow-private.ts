import { parseHost } from '../../authority/host-pattern.js'
import type { AddressPolicy } from './address-guard.js'
import { NetError } from './errors.js'

/** The private addresses that can be reached: all, none (the default), or only these hosts, `host` or `host:port`. */
export type AllowPrivate = boolean | readonly string[]

/**
 * Parses the option once and returns a function that returns the policy for each destination. The host must be exactly
 * the one that was named: neither a name below it nor a name that resolves to the same address. Throws `NetError` for
 * an entry that is not a host.
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
