import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyCharacter } from '../../test/support/any-character.js'
import { compileHostPattern, hostPatternSpecificity, matchesHost, parseHost } from './host-pattern.js'
import { PatternError } from './pattern-error.js'

const matches = (pattern: string, host: string, use: 'permit' | 'restrict' = 'permit'): boolean =>
  matchesHost(compileHostPattern(pattern), parseHost(host), use)

describe('matchesHost', () => {
  it.each<[string, string, boolean]>([
    ['example.com', 'example.com', true],
    ['example.com', 'EXAMPLE.com.', true],
    ['example.com', 'https://example.com/a?b#c', true],
    ['example.com', 'example.com:8443', true],
    ['example.com', 'example.com.evil.org', false],
    ['example.com', 'notexample.com', false],
    ['example.com', 'sub.example.com', false],
    ['*.example.com', 'a.example.com', true],
    ['*.example.com', 'a.b.example.com', true],
    ['*.example.com', 'example.com', false],
    ['*.example.com', 'evilexample.com', false],
    ['*', 'anything.org', true],
    ['*:443', 'https://anything.org', true],
    ['*:443', 'http://anything.org', false],
    ['example.com:443', 'https://example.com', true],
    ['example.com:443', 'https://example.com:8443', false],
    ['example.com:443', 'example.com', false],
    ['bücher.example', 'xn--bcher-kva.example', true],
    ['BÜCHER.example', 'bücher.example', true],
    ['127.0.0.1', '0x7f.1', true],
    ['127.0.0.1', 'http://2130706433/', true],
    ['[::1]', '::1', true],
    ['::1', '[0:0:0:0:0:0:0:1]:80', true],
  ])('%s on %s is %s', (pattern, host, expected) => {
    expect(matches(pattern, host)).toBe(expected)
  })

  it('does not match a permission when the port is unknown', () => {
    expect(matches('example.com:443', 'example.com', 'permit')).toBe(false)
    expect(matches('example.com:443', 'example.com', 'restrict')).toBe(true)
  })

  it('matches a text that is not a host only with restrictions', () => {
    expect(matchesHost(compileHostPattern('*'), undefined, 'permit')).toBe(false)
    expect(matchesHost(compileHostPattern('a.com'), undefined, 'restrict')).toBe(true)
  })
})

describe('parseHost', () => {
  it.each([
    '',
    'a.com\0.google.com',
    'a.com%00.google.com',
    'https://a.com%00.google.com/',
    'user@a.com',
    'https://user:pw@a.com',
    'https://good.com@evil.com/',
    'https://good.com\\@evil.com/',
    'a b.com',
    'a.com/path',
    'a.com?x',
    'a.com#x',
    'a..com',
    '.com',
    'a\n.com',
    'a.com:99999',
    'javascript:alert(1)',
    '*.example.com',
  ])('refuses %j', (text) => {
    expect(parseHost(text)).toBeUndefined()
  })

  it('parses its own output to the same host', () => {
    fc.assert(
      fc.property(fc.webAuthority({ withPort: true, withIPv4: true, withIPv6: true }), (text) => {
        const host = parseHost(text)
        if (host === undefined) return
        expect(parseHost(host.name)?.name).toBe(host.name)
        expect(matches(host.name, text)).toBe(true)
      }),
    )
  })

  it('never throws', () => {
    fc.assert(fc.property(fc.string({ unit: anyCharacter }), (text) => void parseHost(text)))
  })
})

describe('compileHostPattern', () => {
  it.each([
    '',
    'a*.com',
    'a.*.com',
    '**',
    '*.*.com',
    '*x',
    '*:x',
    '*:0',
    'https://a.com',
    'a.com/x',
    '*.1.2.3.4',
    'u@a.com',
    'a%00.com',
    '*.',
  ])('refuses %j', (pattern) => {
    expect(() => compileHostPattern(pattern)).toThrow(PatternError)
  })

  it.each([
    ['a.example.com', '*.example.com'],
    ['*.a.example.com', '*.example.com'],
    ['*.example.com', '*'],
    ['*:443', '*'],
    ['a.com:443', 'a.com'],
  ])('%s is more specific than %s', (more, less) => {
    const of = (pattern: string): number => hostPatternSpecificity(compileHostPattern(pattern))
    expect(of(more)).toBeGreaterThan(of(less))
  })
})
