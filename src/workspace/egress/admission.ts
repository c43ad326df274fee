import { messageOf } from '../../tool/errors.js'
import { type HostRule, hostRules, narrowingRules, plainHost, ruleFor } from './host-rules.js'
import { type BoundSecret, bindSecrets, secretsFor } from './host-secrets.js'
import type { NetworkRules } from './network-options.js'
import type { Refusal } from './network-request.js'

/** Resolves a host and returns the address to connect to; throws when connecting to the host is not allowed. */
export type CheckHost = (
  host: string,
  port: number,
) => Promise<{ readonly address: string; readonly family?: number }>

export type AdmissionOptions = NetworkRules & {
  /** The part of `allowHosts` that this command can reach; absent: all. */
  readonly hosts?: readonly string[] | undefined
  /** Whether a rule denies this command a host, even if the host is allowed otherwise. */
  readonly deniesHost?: ((host: string, port: number) => boolean) | undefined
  readonly checkHost: CheckHost
}

/** A host that can be connected to, with its address and the rules for its requests. */
export type Target = {
  readonly host: string
  readonly port: number
  readonly address: string
  readonly rule: HostRule
  readonly readOnly: boolean
  readonly secrets: readonly BoundSecret[]
  /** Whether the proxy reads the requests to this host, including those over TLS. */
  readonly inspected: boolean
}

export type Admission = {
  /** Checks `host:port`, or `host` with the default port. */
  admit(target: string, defaultPort: number): Promise<Target | Refusal>
  /** Whether the requests to at least one host are inspected. */
  readonly inspects: boolean
}

/**
 * Decides which hosts a command can reach: by name against the lists and rules, then by address. Each name is resolved
 * once for the command and every connection goes to that address, so a name that resolves differently later has no
 * effect.
 */
export function createAdmission(options: AdmissionOptions): Admission {
  const rules = hostRules(options.allowHosts)
  const granted = narrowingRules(options.hosts ?? ['*'])
  const secrets = bindSecrets(options.secrets)
  const readOnly = narrowingRules(readOnlyHosts(options.readOnly))
  const addresses = new Map<string, ReturnType<CheckHost>>()
  const addressOf = (host: string, port: number): ReturnType<CheckHost> => {
    const key = `${host} ${port}`
    const known = addresses.get(key)
    if (known !== undefined) return known
    // A pattern can match any number of names. Clearing the map costs another lookup, which is checked again.
    if (addresses.size >= maxAddresses) addresses.clear()
    const found = options.checkHost(host, port)
    addresses.set(key, found)
    // After a failed lookup, the next connection tries again.
    found.catch(() => addresses.delete(key))
    return found
  }
  return {
    inspects: secrets.length > 0 || readOnly.length > 0,
    async admit(target, defaultPort) {
      const [, name = '', digits] = /^(\[[^\]]*\]|[^:]*)(?::([0-9]{1,5}))?$/.exec(target) ?? []
      const host = plainHost(name)
      const port = digits === undefined ? defaultPort : Number(digits)
      if (host === undefined || port < 1 || port > 65_535)
        return { refused: 'invalid_target', host: '', port: 0, detail: target.slice(0, 300) }
      const rule = ruleFor(rules, host, port)
      if (rule === undefined) return { refused: 'not_allowed', host, port }
      if (ruleFor(granted, host, port) === undefined)
        return { refused: 'not_granted', host, port, rule: rule.text }
      if (options.deniesHost?.(host, port) === true) return { refused: 'denied_by_rule', host, port }
      const own = secretsFor(secrets, host, port)
      const isReadOnly = ruleFor(readOnly, host, port) !== undefined
      try {
        const { address } = await addressOf(host, port)
        return {
          host,
          port,
          address,
          rule,
          readOnly: isReadOnly,
          secrets: own,
          inspected: isReadOnly || own.length > 0,
        }
      } catch (error) {
        return { refused: 'address_refused', host, port, rule: rule.text, detail: messageOf(error) }
      }
    },
  }
}

const maxAddresses = 1_000

function readOnlyHosts(readOnly: NetworkRules['readOnly'] = false): readonly string[] {
  if (typeof readOnly === 'boolean') return readOnly ? ['*'] : []
  return readOnly
}
