import { describe, expect, it } from 'vitest'
import { type HostRule, hostRules, narrowingRules, plainHost, ruleFor } from './host-rules.js'

function isAllowed(rules: readonly HostRule[], host: string, port: number): boolean {
  return ruleFor(rules, host, port) !== undefined
}

describe('an allow-list of hosts', () => {
  it.each([
    [['example.com'], 'example.com', 443, true],
    [['example.com'], 'example.com', 80, true],
    [['example.com'], 'example.com', 22, false],
    [['example.com:22'], 'example.com', 22, true],
    [['example.com:22'], 'example.com', 443, false],
    [['example.com'], 'www.example.com', 443, false],
    [['*.example.com'], 'www.example.com', 443, true],
    [['*.example.com'], 'a.b.example.com', 443, true],
    [['*.example.com'], 'example.com', 443, false],
    [['*.example.com'], 'evilexample.com', 443, false],
    [['example.com'], 'example.com.evil.org', 443, false],
    [['EXAMPLE.com.'], 'example.com', 443, true],
    [['[2001:db8::1]'], '2001:db8::1', 443, true],
    [[], 'example.com', 443, false],
  ])('%j allows %s:%i: %s', (patterns, host, port, expected) => {
    expect(isAllowed(hostRules(patterns), host, port)).toBe(expected)
  })

  it.each(['', '*', '*.', 'a b', 'http://x', 'x/y', 'a..b', '*.*.com', 'ex*mple.com', 'x:y', 'é.com'])(
    'rejects the entry "%s"',
    (pattern) => {
      expect(() => hostRules([pattern])).toThrow(expect.objectContaining({ code: 'host_pattern_malformed' }))
    },
  )
})

describe('plainHost', () => {
  it.each([
    'evil.com\0.google.com',
    'a\n',
    'a%2e',
    'user@host',
    'ü.com',
    'a b',
    '-x.com',
    '',
    `${'a'.repeat(64)}.com`,
    '[::1',
  ])('rejects %j as a host', (text) => {
    expect(plainHost(text)).toBeUndefined()
  })
  it('returns one form for each host', () => {
    expect(plainHost('Example.COM.')).toBe('example.com')
    expect(plainHost('[::1]')).toBe('::1')
  })
})

describe('the hosts of one call', () => {
  it.each([
    [['*'], 'example.com', 22, true],
    [['*:443'], 'example.com', 22, false],
    [['*:443'], 'example.com', 443, true],
    [['example.com'], 'example.com', 8443, true],
    [['example.com:443'], 'example.com', 8443, false],
    [['*.example.com'], 'example.com', 443, false],
    [['*.example.com'], 'a.example.com', 8443, true],
    [['[2001:db8::1]'], '2001:db8::1', 8443, true],
    [['[2001:db8::1]:443'], '2001:db8::1', 8443, false],
    [[], 'example.com', 443, false],
  ])('%j grants %s:%i: %s', (patterns, host, port, expected) => {
    expect(isAllowed(narrowingRules(patterns), host, port)).toBe(expected)
  })

  it.each(['*evil.com', '**', '*:x', '', 'a.*.com', '*.', '*:443:443', 'http://x'])(
    'rejects %j',
    (pattern) => {
      expect(() => narrowingRules([pattern])).toThrow(/not a host to allow/)
    },
  )
})
