import fc from 'fast-check'
import ipaddr from 'ipaddr.js'
import { describe, expect, it } from 'vitest'
import { propertyRuns } from '../../../test/support/property-runs.js'
import { refuseAddress, refuseName } from './address-guard.js'

describe('refuseAddress', () => {
  it.each([
    ['8.8.8.8'],
    ['93.184.216.34'],
    ['172.15.255.255'],
    ['172.32.0.1'],
    ['100.63.255.255'],
    ['100.128.0.1'],
    ['2606:4700:4700::1111'],
    ['2a00:1450:4001:81b::200e'],
  ])('allows %s', (ip) => {
    expect(refuseAddress(ip)).toBeUndefined()
  })

  it.each([
    ['127.0.0.1', 'loopback'],
    ['127.255.255.254', 'loopback'],
    ['::1', 'loopback'],
    ['0.0.0.0', 'unspecified'],
    ['0.1.2.3', 'unspecified'],
    ['::', 'unspecified'],
    ['10.1.2.3', 'private'],
    ['172.16.0.1', 'private'],
    ['172.31.255.255', 'private'],
    ['192.168.1.1', 'private'],
    ['fc00::1', 'private'],
    ['fdff::1', 'private'],
    ['100.64.0.1', 'CGNAT'],
    ['100.127.255.255', 'CGNAT'],
    ['169.254.1.1', 'link-local'],
    ['fe80::1', 'link-local'],
    ['febf::1', 'link-local'],
    ['fec0::1', 'site-local'],
    ['224.0.0.1', 'multicast'],
    ['ff02::1', 'multicast'],
    ['255.255.255.255', 'broadcast'],
    ['240.0.0.1', 'reserved'],
    ['192.0.2.1', 'documentation'],
    ['198.51.100.1', 'documentation'],
    ['203.0.113.1', 'documentation'],
    ['2001:db8::1', 'documentation'],
    ['3fff::1', 'documentation'],
    ['198.18.0.1', 'benchmarks'],
    ['198.19.255.255', 'benchmarks'],
    ['64:ff9b::8.8.8.8', 'NAT64'],
    ['64:ff9b::7f00:1', 'NAT64'],
    ['2002:7f00:1::', '6to4'],
    ['2001:0:4136:e378::1', 'Teredo'],
    ['::ffff:127.0.0.1', 'IPv4'],
    ['::ffff:8.8.8.8', 'IPv4'],
    ['::127.0.0.1', 'IPv4'],
    ['192.0.0.1', 'protocols'],
    ['4000::1', 'global unicast'],
    ['fe80::1%eth0', 'interface'],
    ['example.com', 'not an IP'],
    ['', 'not an IP'],
    ['0177.0.0.1', 'not an IP'],
  ])('refuses %s: %s', (ip, why) => {
    expect(refuseAddress(ip)).toContain(why)
  })

  it.each([['127.0.0.1'], ['::1'], ['10.0.0.1'], ['192.168.0.1'], ['100.64.0.1'], ['fd12::1']])(
    'allows %s when private addresses are allowed',
    (ip) => {
      expect(refuseAddress(ip, { allowPrivate: true })).toBeUndefined()
    },
  )

  it.each([
    ['169.254.169.254'],
    ['169.254.170.2'],
    ['fd00:ec2::254'],
    ['100.100.100.200'],
    ['168.63.129.16'],
    ['169.254.0.1'],
    ['fe80::1'],
    ['0.0.0.0'],
    ['224.0.0.1'],
    ['::ffff:10.0.0.1'],
    ['64:ff9b::a00:1'],
    ['255.255.255.255'],
  ])('refuses %s even when private addresses are allowed', (ip) => {
    expect(refuseAddress(ip, { allowPrivate: true })).toBeTypeOf('string')
  })

  it('is never less strict than an independent list of special ranges', () => {
    const v4 = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255)).map((parts) => parts.join('.'))
    const words = fc.oneof(
      fc.nat(0xffff),
      fc.constantFrom(0, 0x64, 0xff9b, 0x2001, 0x2002, 0xdb8, 0xfd00, 0xffff),
    )
    const v6 = fc
      .array(words, { minLength: 8, maxLength: 8 })
      .map((parts) => parts.map((part) => part.toString(16)).join(':'))
    fc.assert(
      fc.property(fc.oneof(v4, v6), (ip) => {
        if (ipaddr.parse(ip).range() !== 'unicast') expect(refuseAddress(ip)).toBeTypeOf('string')
      }),
      { numRuns: propertyRuns(5_000) },
    )
  })

  it('does not refuse ordinary IPv4 addresses that the independent list allows', () => {
    const v4 = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255)).map((parts) => parts.join('.'))
    fc.assert(
      fc.property(v4, (ip) => {
        if (ipaddr.parse(ip).range() === 'unicast' && ip !== '168.63.129.16') {
          expect(refuseAddress(ip)).toBeUndefined()
        }
      }),
      { numRuns: propertyRuns(3_000) },
    )
  })
})

describe('refuseName', () => {
  it.each([
    ['localhost'],
    ['LOCALHOST'],
    ['localhost.'],
    ['a.localhost'],
    ['a.b.localhost.'],
    ['ip6-localhost'],
  ])('refuses %s', (name) => {
    expect(refuseName(name)).toContain('this machine')
    expect(refuseName(name, { allowPrivate: true })).toBeUndefined()
  })

  it.each([['metadata.google.internal'], ['Metadata.Google.Internal.'], ['metadata'], ['instance-data']])(
    'refuses %s, also when private addresses are allowed',
    (name) => {
      expect(refuseName(name, { allowPrivate: true })).toContain('metadata')
    },
  )

  it.each([['example.com'], ['notlocalhost'], ['localhost.example.com'], ['xn--bcher-kva.example']])(
    'allows %s',
    (name) => {
      expect(refuseName(name)).toBeUndefined()
    },
  )
})
