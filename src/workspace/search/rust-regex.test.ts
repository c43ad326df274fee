import { describe, expect, it } from 'vitest'
import { translateRegex } from './rust-regex.js'

const test = (pattern: string, text: string, ignoreCase = false) => {
  const { source, flags } = translateRegex(pattern, ignoreCase)
  return new RegExp(source, flags).test(text)
}

describe('translateRegex', () => {
  it.each([
    ['foo', 'a foo b', true],
    ['^foo$', 'foo\r', true],
    ['a.c', 'a\rc', false],
    ['\\d', '٣', true],
    ['\\w', 'é', true],
    ['\\bé', 'aé', false],
    ['\\bé', ' é', true],
    ['\\s', '\u0085', true],
    ['\\s', '\uFEFF', false],
    ['(?i)FOO', 'foo', true],
    ['(?P<x>a)b', 'ab', true],
    ['(?<x>a)b', 'ab', true],
    ['[[:upper:]]', 'a', false],
    ['[]a]', ']', true],
    ['[^]a]', ']', false],
    ['[a-]', '-', true],
    ['\\x{1F600}', '😀', true],
    ['\\-\\#\\"', '-#"', true],
    ['a}', 'a}', true],
    ['a]', 'a]', true],
    ['a{2,3}', 'aa', true],
    ['\\p{Greek}', 'α', true],
    ['\\pL', 'x', true],
    ['foo\\(', 'foo(', true],
    ['[\\s\\S]', '\r', false],
    ['/', '/', true],
  ])('%j finds something in %j: %s', (pattern, text, expected) => {
    expect(test(pattern, text)).toBe(expected)
  })

  it.each([
    ['(?=a)', 'look-around'],
    ['(?!a)', 'look-around'],
    ['(?<=a)', 'look-around'],
    ['(?<!a)', 'look-around'],
    ['(a)\\1', 'backreferences'],
    ['(?<x>a)\\k<x>', 'backreferences'],
    ['(?s)a', 'needs ripgrep'],
    ['(?i:a)', 'needs ripgrep'],
    ['[a&&b]', 'operator'],
    ['[a[b]]', 'inside classes'],
    ['a**', 'repeats another'],
    ['*', 'nothing to repeat'],
    ['(|*)', 'nothing to repeat'],
    ['a{', '\\{'],
    ['(', 'not closed'],
    [')', 'not opened'],
    ['[a', 'not closed'],
    ['\\z', 'escape'],
    ['\\<a', 'escape'],
    ['\\b{start}', 'escape'],
    ['\\n', 'escape'],
    ['\\q', 'escape'],
    ['a\\', 'escape'],
    ['[z-a]', 'malformed'],
    ['(?P<x>a)(?P<x>b)', 'same name'],
  ])('rejects %j: %s', (pattern, why) => {
    expect(() => translateRegex(pattern, false)).toThrow(why)
  })

  it.each([
    ['foo', 'foo'],
    ['foo.*longer', 'longer'],
    ['fo+bar', 'bar'],
    ['a|foo', ''],
    ['(foo|bar)baz', 'baz'],
    ['(a|b)?', ''],
    ['foo\\.ts', 'foo.ts'],
    ['^import$', 'import'],
    ['abc*', 'ab'],
  ])('reports that every match of %j contains %j', (pattern, literal) => {
    expect(translateRegex(pattern, false).literal).toBe(literal)
    expect(translateRegex(pattern, true).literal).toBe('')
  })
})
