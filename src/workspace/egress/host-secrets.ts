import { HostSecretError } from './errors.js'
import { type HostRule, plainHost, ruleFor } from './host-rules.js'
import type { HostSecret } from './network-options.js'

/** A secret with the rule for the host that gets it. */
export type BoundSecret = HostSecret & { readonly rule: HostRule }

/** Reads the entries once, before a command can use them. */
export function bindSecrets(secrets: readonly HostSecret[] = []): readonly BoundSecret[] {
  return secrets.map((secret) => {
    const [, name = '', port] = /^([^:*/@]+|\[[0-9a-fA-F:.]+\])(?::([0-9]{1,5}))?$/.exec(secret.host) ?? []
    const host = plainHost(name)
    if (host === undefined) throw new HostSecretError(secret.host, 'does not name one host')
    const usual = secret.plainHttp === true ? [80, 443] : [443]
    checkHeader(secret)
    return {
      ...secret,
      header: secret.header.toLowerCase(),
      rule: { text: secret.host, host, below: false, ports: port === undefined ? usual : [Number(port)] },
    }
  })
}

/** These frame a message or name its destination. */
const notForSecrets = new Set([
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'upgrade',
  'te',
  'expect',
])

function checkHeader({ host, header, value }: HostSecret): void {
  // Not with the functions of Node: their errors hold the value, and sessions that use no network would load `http`.
  if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(header) || notForSecrets.has(header.toLowerCase()))
    throw new HostSecretError(host, `cannot set the header ${JSON.stringify(header)}`)
  if (typeof value === 'string' && !/^[\t\x20-\x7e\x80-\xff]+$/.test(value))
    throw new HostSecretError(host, 'has a value that no header can have: it is empty or has a line break')
}

/** Those of the secrets that a request to this host and port gets. */
export function secretsFor(
  secrets: readonly BoundSecret[],
  host: string,
  port: number,
): readonly BoundSecret[] {
  return secrets.filter(({ rule }) => ruleFor([rule], host, port) !== undefined)
}
