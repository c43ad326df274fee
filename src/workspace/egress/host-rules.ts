import { CapstanError, markErrorClass } from '../../tool/errors.js'

/** Thrown for an invalid entry in an allow-list of hosts. */
export class HostPatternError extends CapstanError {
  constructor(pattern: string) {
    super(
      'host_pattern_malformed',
      `${JSON.stringify(pattern)} is not a host to allow. Write "example.com", "*.example.com" (its subdomains), with ":port" for ports other than 80 and 443.`,
    )
  }
}
markErrorClass(HostPatternError, 'HostPatternError')

export type HostRule = {
  /** The entry as it was written. */
  readonly text: string
  /** Empty together with `below`: every host. */
  readonly host: string
  /** Matches only the names below `host`, not `host` itself. */
  readonly below: boolean
  /** Absent: every port. */
  readonly ports?: readonly number[] | undefined
  /** Whether the entry names a port, in which case the protocol is unknown. */
  readonly namesPort?: boolean | undefined
}

/** Parses an allow-list. An empty one allows nothing. */
export function hostRules(patterns: readonly string[]): HostRule[] {
  return patterns.map((pattern) => {
    const [, star, name = '', port] =
      /^(\*\.)?([^:*]+|\[[0-9a-fA-F:.]+\])(?::([0-9]{1,5}))?$/.exec(pattern) ?? []
    const host = plainHost(name)
    if (host === undefined) throw new HostPatternError(pattern)
    return {
      text: pattern,
      host,
      below: star !== undefined,
      ports: port === undefined ? [80, 443] : [Number(port)],
      namesPort: port !== undefined,
    }
  })
}

/**
 * Parses the hosts of one call, in the syntax of a grant: in addition to the syntax above, `*` is every host, and an
 * entry without a port applies to every port. The result can only narrow an allow-list.
 */
export function narrowingRules(patterns: readonly string[]): HostRule[] {
  return patterns.map((pattern) => {
    const [, any, port] = /^(\*)?.*?(?::([0-9]{1,5}))?$/.exec(pattern) ?? []
    const ports = port === undefined || pattern.endsWith(']') ? {} : { ports: [Number(port)] }
    if (any !== undefined && !pattern.startsWith('*.')) {
      if (!/^\*(?::[0-9]+)?$/.test(pattern)) throw new HostPatternError(pattern)
      return { text: pattern, host: '', below: true, ...ports }
    }
    const [rule] = hostRules([pattern])
    if (rule === undefined) throw new HostPatternError(pattern)
    return { text: pattern, host: rule.host, below: rule.below, ...ports }
  })
}

/** Returns the first rule that allows a connection to this host and port; the host as returned by `plainHost`. */
export function ruleFor(rules: readonly HostRule[], host: string, port: number): HostRule | undefined {
  return rules.find((rule) => (rule.ports === undefined || rule.ports.includes(port)) && isNamed(rule, host))
}

function isNamed(rule: HostRule, host: string): boolean {
  if (!rule.below) return host === rule.host
  return rule.host === '' || host.endsWith(`.${rule.host}`)
}

/**
 * Normalizes a host to the one form in which it is compared, resolved and connected to; undefined for invalid text. A
 * text that one of the three could read differently from the others must be rejected: a NUL byte ends a name for the
 * resolver but not for `endsWith`. Numbers are addresses, as for the resolver: `2130706433` and `0x7f.1` are
 * `127.0.0.1`.
 */
export function plainHost(text: string): string | undefined {
  const host = text.toLowerCase().replace(/\.$/, '')
  const isAddress = /^\[[0-9a-f:.]+\]$/.test(host)
  const isName = host.length <= 253 && /^(?!-)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/.test(host)
  if ((!isAddress && !isName) || !URL.canParse(`http://${host}`)) return undefined
  return new URL(`http://${host}`).hostname.replace(/^\[|\]$/g, '')
}
