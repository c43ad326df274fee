import { BlockList, isIPv4, isIPv6 } from 'node:net'

export type AddressPolicy = {
  /** Allows loopback, private (RFC 1918), shared (CGNAT) and unique-local addresses, but never metadata addresses. */
  readonly allowPrivate?: boolean | undefined
}

/**
 * Returns why a connection to this IP address is refused, or undefined when it is allowed. IPv4 is refused by list
 * (IANA special-purpose registry); IPv6 is allowed by list: only global unicast, except the parts of it that embed or
 * tunnel other addresses.
 *
 * @example refuseAddress('10.0.0.1', {}) // 'is a private address'
 */
export function refuseAddress(ip: string, policy: AddressPolicy = {}): string | undefined {
  const family = isIPv4(ip) ? 'ipv4' : isIPv6(ip) ? 'ipv6' : undefined
  if (family === undefined) return 'is not an IP address'
  if (ip.includes('%')) return 'names a network interface'
  for (const range of ranges) {
    if (range[family].check(ip, family)) return range.private && policy.allowPrivate ? undefined : range.why
  }
  return family === 'ipv4' || globalUnicast.check(ip, 'ipv6') ? undefined : 'is not a global unicast address'
}

/** Returns why this host name is not even resolved. The name is compared without case and without trailing dots. */
export function refuseName(host: string, policy: AddressPolicy = {}): string | undefined {
  const name = host.toLowerCase().replace(/\.+$/, '')
  if (name === '') return 'is empty'
  if (metadataNames.has(name)) return 'is a cloud metadata service'
  const loopback = loopbackNames.has(name) || name.endsWith('.localhost')
  return loopback && !policy.allowPrivate ? 'names this machine' : undefined
}

const metadataNames = new Set([
  'metadata',
  'metadata.google.internal',
  'metadata.goog',
  'instance-data',
  'instance-data.ec2.internal',
])
const loopbackNames = new Set([
  'localhost',
  'localhost.localdomain',
  'localhost4',
  'localhost6',
  'ip6-localhost',
  'ip6-loopback',
])

type Range = {
  readonly why: string
  readonly private: boolean
  readonly ipv4: BlockList
  readonly ipv6: BlockList
}

// The first range that contains the address decides: metadata before private, loopback before IPv4-compatible. Some
// metadata addresses are outside every special range (168.63.129.16 is public space). Link-local stays refused with
// `allowPrivate`: credential services use it (169.254.170.2, 169.254.170.23).
const ranges: readonly Range[] = [
  range('is a cloud metadata service', false, [
    '169.254.169.254/32',
    '169.254.170.2/32',
    '169.254.170.23/32',
    '100.100.100.200/32',
    '168.63.129.16/32',
    '192.0.0.192/32',
    'fd00:ec2::/32',
    'fd20:ce::/32',
    'fd00:c1::/32',
    'fd00:42::/32',
  ]),
  range('is a loopback address (this machine)', true, ['127.0.0.0/8', '::1/128']),
  range('is a private address', true, ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7']),
  range('is a shared carrier address (CGNAT)', true, ['100.64.0.0/10']),
  range('is unspecified (this machine)', false, ['0.0.0.0/8', '::/128']),
  range('is a link-local address', false, ['169.254.0.0/16', 'fe80::/10']),
  range('is a site-local address', false, ['fec0::/10']),
  range('is a multicast address', false, ['224.0.0.0/4', 'ff00::/8']),
  range('is reserved or a broadcast address', false, ['240.0.0.0/4']),
  range('is reserved for documentation', false, [
    '192.0.2.0/24',
    '198.51.100.0/24',
    '203.0.113.0/24',
    '2001:db8::/32',
    '3fff::/20',
  ]),
  range('is reserved for benchmarks', false, ['198.18.0.0/15', '2001:2::/48']),
  range('hides an IPv4 address (mapped or compatible)', false, ['::ffff:0:0/96', '::/96', '::ffff:0:0:0/96']),
  range('hides an IPv4 address (NAT64)', false, ['64:ff9b::/96', '64:ff9b:1::/48']),
  range('hides an IPv4 address (6to4)', false, ['2002::/16', '192.88.99.0/24']),
  range('hides an IPv4 address (Teredo)', false, ['2001::/32']),
  range('is reserved for protocols', false, ['192.0.0.0/24', '2001::/23', '5f00::/16', '100::/64']),
]
const globalUnicast = subnets(['2000::/3'], 'ipv6')

function range(why: string, isPrivate: boolean, cidrs: readonly string[]): Range {
  return { why, private: isPrivate, ipv4: subnets(cidrs, 'ipv4'), ipv6: subnets(cidrs, 'ipv6') }
}

// A list per family: in a shared BlockList, IPv4 rules also match mapped IPv6 addresses, with the wrong reason.
function subnets(cidrs: readonly string[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList()
  for (const cidr of cidrs) {
    const [network = '', bits = ''] = cidr.split('/')
    if (network.includes(':') === (family === 'ipv6')) list.addSubnet(network, Number(bits), family)
  }
  return list
}
