import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { propertyRuns } from '../../../test/support/property-runs.js'
import { compileGlob } from './glob-pattern.js'

describe('compileGlob', () => {
  it.each([
    ['*.ts', 'a.ts', true],
    ['*.ts', 'deep/er/a.ts', true],
    ['*.ts', 'a.tsx', false],
    ['*.ts', '.ts', true],
    ['*', '.hidden', true],
    ['/*.ts', 'a.ts', true],
    ['/*.ts', 'deep/a.ts', false],
    ['./*.ts', 'deep/a.ts', false],
    ['src/*.ts', 'src/a.ts', true],
    ['src/*.ts', 'src/b/a.ts', false],
    ['src/*.ts', 'lib/src/a.ts', false],
    ['src/**/*.ts', 'src/a.ts', true],
    ['src/**/*.ts', 'src/b/c/a.ts', true],
    ['src/**/*.ts', 'a.ts', false],
    ['**/test/**', 'test/a', true],
    ['**/test/**', 'x/test/y/a', true],
    ['**/test/**', 'x/test', false],
    ['**/*.ts', 'a.ts', true],
    ['**', 'a/b', true],
    ['/***', 'a/b', true],
    ['src/***/*.ts', 'src/b/c/a.ts', true],
    ['a***b', 'a/b', false],
    ['src/', 'src/a/b', true],
    ['src/', 'src', false],
    ['src/**', 'src', false],
    ['a/**/b/**/c', 'a/x/b/b/y/c', true],
    ['a/**/b/**/c', 'a/x/c/b', false],
    ['?.md', 'a.md', true],
    ['?.md', 'ab.md', false],
    ['?.md', '😀.md', true],
    ['[a-c]x', 'bx', true],
    ['[!a-c]x', 'bx', false],
    ['[^a-c]x', 'dx', true],
    ['[]]x', ']x', true],
    ['{a,b}.ts', 'b.ts', true],
    ['{a,b}.ts', 'c.ts', false],
    ['*.{ts,{js,mjs}}', 'x.mjs', true],
    ['src/{a,b/c}/*', 'src/b/c/d', true],
    ['\\[ab', '[ab', true],
    ['\\{a', '{a', true],
    ['a**b', 'axxb', true],
    ['a**b', 'a/b', false],
    ['\\*.ts', '*.ts', true],
    ['\\*.ts', 'a.ts', false],
    ['!*.ts', 'a.ts', false],
    ['!*.ts', 'a.js', true],
    ['-x', '-x', true],
    ['a b\nc', 'd/a b\nc', true],
    ['*a*a*a*', 'banana', true],
    ['a*b?c', 'axxbxc', true],
  ])('%j matches %j: %s', (pattern, path, fits) => {
    expect(compileGlob(pattern).matches(path)).toBe(fits)
  })

  it.each([
    [''],
    ['!'],
    ['a'.repeat(2_000)],
    ['a\0b'],
    ['../x'],
    ['a/../../x'],
    ['{a,b}'.repeat(10)],
    ['[ab'],
    ['{a'],
    ['*a'.repeat(200)],
  ])('rejects %j', (pattern) => {
    expect(() => compileGlob(pattern)).toThrow(expect.objectContaining({ code: 'search_pattern_invalid' }))
  })

  it('takes little time for patterns that make backtracking matchers hang', () => {
    const glob = compileGlob(`${'*a'.repeat(31)}*b`)
    const paths = compileGlob(`${'**/a/'.repeat(32)}b`)
    expect(glob.matches('a'.repeat(4_000))).toBe(false)
    expect(paths.matches('a/'.repeat(1_000))).toBe(false)
  })

  it('names a file pattern for every match it can have', () => {
    expect(compileGlob('src/**/*.{ts,tsx}').names).toEqual(['*.ts', '*.tsx'])
    expect(compileGlob('src/**').names).toBeUndefined()
    expect(compileGlob('!*.ts').names).toBeUndefined()
    expect(compileGlob('[ab].ts').names).toBeUndefined()
  })

  it('agrees with a simple implementation of star and question mark', () => {
    const part = fc.array(fc.constantFrom('a', 'b', '*', '?', '.'), { minLength: 1, maxLength: 6 })
    const name = fc.array(fc.constantFrom('a', 'b', '.'), { minLength: 1, maxLength: 8 })
    fc.assert(
      fc.property(part, name, (pattern, text) => {
        const plain = pattern.map((char) =>
          char === '*' ? '.*' : char === '?' ? '.' : char === '.' ? '\\.' : char,
        )
        const expected = new RegExp(`^${plain.join('').replaceAll('.*.*', '.*')}$`).test(text.join(''))
        if (!['**', '..'].includes(pattern.join('')))
          expect(compileGlob(pattern.join('')).matches(text.join(''))).toBe(expected)
      }),
      { numRuns: propertyRuns(3_000) },
    )
  })
})
