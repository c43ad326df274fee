import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyCharacter } from '../../test/support/any-character.js'
import { propertyRuns } from '../../test/support/property-runs.js'
import {
  compilePathPattern,
  matchesPath,
  type PathPatternUse,
  pathPatternSpecificity,
  preparePath,
} from './path-pattern.js'
import { PatternError } from './pattern-error.js'
import type { Scope } from './scope.js'
import { UnknownVariableError } from './variables.js'

const scope: Scope = { variables: { workspace: ['/w'], scratch: ['/tmp/s'] }, home: '/home/u' }

function matches(
  pattern: string,
  path: string,
  use: PathPatternUse = 'permit',
  over: Partial<Scope> = {},
): boolean {
  return matchesPath(compilePathPattern(pattern, { scope: { ...scope, ...over }, use }), preparePath(path))
}

describe('a path pattern that permits', () => {
  it.each<[string, string, boolean]>([
    ['src/*', '/w/src/a.ts', true],
    ['src/*', '/w/src/.hidden', true],
    ['src/*', '/w/src/a/b.ts', false],
    ['src/*', '/w/src/../secret', false],
    ['src/*', '/w/src', false],
    ['src/**', '/w/src', true],
    ['src/**', '/w/src/a/b/.c', true],
    ['src/**', '/w/srcx', false],
    ['src/', '/w/src/a', true],
    ['./src//a.ts', '/w/src/a.ts', true],
    ['src/../lib/*', '/w/lib/x', true],
    ['**/*.ts', '/w/a.ts', true],
    ['**/*.ts', '/w/a/b/c.ts', true],
    ['**/*.ts', '/etc/a.ts', false],
    ['**.ts', '/w/a/b.ts', true],
    ['a**b', '/w/ab', true],
    ['a**b', '/w/ax/y/zb', true],
    ['a**b', '/w/ax/y/z', false],
    ['a/**/b', '/w/a/b', true],
    ['a/**/b', '/w/a/x/y/b', true],
    ['a?c', '/w/abc', true],
    ['a?c', '/w/a/c', false],
    ['a?c', '/w/a😀c', true],
    ['[a-c]x', '/w/bx', true],
    ['[!a-c]x', '/w/bx', false],
    ['[^a-c]x', '/w/dx', true],
    ['[]a]x', '/w/]x', true],
    ['*.{ts,tsx}', '/w/a.tsx', true],
    ['{src,test/unit}/**', '/w/test/unit/a', true],
    ['{src,test/unit}/**', '/w/test/e2e/a', false],
    ['\\*', '/w/*', true],
    ['\\*', '/w/a', false],
    ['a\\{b\\}', '/w/a{b}', true],
    ['~/x', '/home/u/x', true],
    ['~', '/home/u', true],
    ['~x', '/w/~x', true],
    ['/etc/*', '/etc/hosts', true],
    ['/**', '/', true],
    ['{workspace}/**', '/w', true],
    ['{scratch}/**', '/tmp/s/out', true],
    ['{user-data}/**', '/anything', false],
    ['*', '/w/a/b/.c', true],
    ['*', '/tmp/s/x', true],
    ['*', '/etc/passwd', false],
    ['*', '/ship', false],
    ['**', '/w-evil/x', false],
    ['.', '/w', true],
    ['e\u0301', '/w/\u00e9', true],
  ])('%s on %s is %s', (pattern, path, expected) => {
    expect(matches(pattern, path)).toBe(expected)
  })
})

describe('a path pattern that restricts', () => {
  it.each<[string, string, boolean]>([
    ['**/.env*', '/w/.env', true],
    ['**/.env*', '/w/a/.cfg/.env', true],
    ['**/.env*', '/w/.env.d/secret', true],
    ['**/.env*', '/elsewhere/.env', true],
    ['**/.env*', '/w/env', false],
    ['src', '/w/src/a/b', true],
    ['src', '/x/src', false],
    ['*', '/etc/passwd', true],
    ['**/.ssh/**', '/home/u/.ssh/id_rsa', true],
    ['**/.ssh/**', '/home/u/.ssh', true],
    ['~/.aws', '/home/u/.aws/credentials', true],
  ])('%s on %s is %s', (pattern, path, expected) => {
    expect(matches(pattern, path, 'restrict')).toBe(expected)
  })

  it('applies everywhere when there is no workspace', () => {
    expect(matches('src/x', '/any/src/x', 'restrict', { variables: {} })).toBe(true)
    expect(matches('src/x', '/any/src/x', 'permit', { variables: {} })).toBe(false)
  })

  it.each(['/ship/app/secret/**', '~/app/secret', '/ship/*/secret', '/**/secret/', '/s*/**/{secret,other}'])(
    'applies %s to the same paths in a copy of the workspace',
    (pattern) => {
      const copy = { variables: { workspace: ['/tmp/copy'] }, home: '/ship', copyOf: ['/ship/app'] }
      expect(matches(pattern, '/tmp/copy/secret/key', 'restrict', copy)).toBe(true)
      expect(matches(pattern, '/ship/app/secret/key', 'restrict', copy)).toBe(true)
      expect(matches(pattern, '/tmp/copy/public/key', 'restrict', copy)).toBe(false)
      expect(matches(pattern, '/tmp/copy/secret/key', 'permit', copy)).toBe(pattern.startsWith('/**'))
    },
  )
})

describe('spelling', () => {
  it('ignores case only if that is set', () => {
    expect(matches('**/.env*', '/w/.ENV', 'restrict')).toBe(false)
    expect(matches('**/.env*', '/w/.ENV', 'restrict', { ignoreCase: true })).toBe(true)
    expect(matches('**/[A-C].TXT', '/w/b.txt', 'restrict', { ignoreCase: true })).toBe(true)
  })

  it.each([
    '/w/.git/hooks/x',
    '/w/.GIT/hooks/x',
    '/w/.git./hooks/x',
    '/w/.git /hooks/x',
    '/w/GIT~1/hooks/x',
    '/w/.g\u200cit/hooks/x',
    '/w/.git::$INDEX_ALLOCATION/hooks/x',
  ])('protects %s under every spelling when loose', (path) => {
    const pattern = compilePathPattern('**/.git/**', { scope, use: 'restrict', loose: true })
    expect(matchesPath(pattern, preparePath(path))).toBe(true)
    expect(matchesPath(pattern, preparePath('/w/.github/x'))).toBe(false)
  })
})

describe('bad patterns', () => {
  it.each<[string, number]>([
    ['', 0],
    ['a[b', 1],
    ['a\\', 1],
    ['[b-a]', 2],
    ['[a/b]', 2],
    ['**/../x', 3],
    ['a\0', 1],
    ['*a'.repeat(40), 64],
    ['a'.repeat(1025), 1024],
    ['{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}', 30],
  ])('%s is rejected at %i', (pattern, position) => {
    try {
      compilePathPattern(pattern, { scope, use: 'permit' })
      expect.unreachable()
    } catch (error) {
      expect(error).toBeInstanceOf(PatternError)
      expect(error).toMatchObject({ position })
    }
  })
})

it.each(['a{b,c', 'a}b', '{a,b{c,d}}', '{wrokspace}/x'])('%s is rejected for its braces', (pattern) => {
  expect(() => compilePathPattern(pattern, { scope, use: 'permit' })).toThrow(UnknownVariableError)
})

it('blank or relative roots are ignored', () => {
  for (const root of ['', ' ', '.', 'w']) {
    const odd = { variables: { workspace: [root], scratch: [root] } }
    for (const pattern of ['*', '**', 'x', '{workspace}/**']) {
      expect(matches(pattern, '/etc/x', 'permit', odd)).toBe(false)
      expect(matches(pattern, '/x', 'permit', odd)).toBe(false)
    }
  }
})

describe('pathPatternSpecificity', () => {
  it.each([
    ['src/a.ts', 'src/a.ts*'],
    ['src/a*', 'src/*'],
    ['**/.env*', 'src/**'],
    ['src/**', '**'],
    ['src/sub/**', '{workspace}/src/**'],
  ])('%s is more specific than %s', (more, less) => {
    const of = (pattern: string): number =>
      pathPatternSpecificity(compilePathPattern(pattern, { scope, use: 'permit' }))
    expect(of(more)).toBeGreaterThan(of(less))
  })

  it('does not depend on the path of the workspace', () => {
    const of = (pattern: string, root: string): number =>
      pathPatternSpecificity(
        compilePathPattern(pattern, { scope: { variables: { workspace: [root] } }, use: 'permit' }),
      )
    expect(of('src/*', '/w')).toBe(of('src/*', '/a/very/long/way/down'))
    expect(of('{workspace}/src/*', '/w')).toBe(of('src/*', '/w'))
  })
})

/** The simple recursive matcher: exponential, and correct. */
function reference(pattern: string, text: string): boolean {
  if (pattern === '') return text === ''
  if (pattern.startsWith('/**/')) {
    if (reference(pattern.slice(3), text)) return true
    return (
      text.startsWith('/') &&
      [...text].some((_, at) => at > 0 && text[at] === '/' && reference(pattern.slice(3), text.slice(at)))
    )
  }
  if (pattern === '/**') return text === '' || text.startsWith('/')
  if (pattern.startsWith('*')) {
    for (let end = 0; end <= text.length; end++) {
      if (reference(pattern.slice(1), text.slice(end))) return true
      if (text[end] === '/') return false
    }
    return false
  }
  if (text === '') return false
  if (pattern.startsWith('?')) return text[0] !== '/' && reference(pattern.slice(1), text.slice(1))
  return pattern[0] === text[0] && reference(pattern.slice(1), text.slice(1))
}

describe('the matcher', () => {
  const name = fc.stringMatching(/^[ab.]{0,2}[ab]$/)
  const glob = fc.stringMatching(/^[ab*?]{1,3}$/).filter((text) => !text.includes('**'))

  it('agrees with the simple matcher on small patterns', () => {
    const patterns = fc.array(fc.oneof(glob, fc.constant('**')), { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(patterns, fc.array(name, { maxLength: 4 }), (parts, names) => {
        const path = names.map((one) => `/${one}`).join('')
        const pattern = `/${parts.join('/')}`
        const collapsed = pattern.replaceAll(/(\/\*\*)+/g, '/**')
        expect(matches(pattern, path === '' ? '/' : path)).toBe(reference(collapsed, path))
      }),
      { numRuns: propertyRuns(2_000) },
    )
  })

  it('expands braces to alternatives, and reads a joined ** as a star that crosses slashes', () => {
    fc.assert(
      fc.property(glob, glob, glob, fc.array(name, { minLength: 1, maxLength: 3 }), (a, b, c, names) => {
        const path = `/${names.join('/')}`
        expect(matches(`/{${a},${b}}/${c}`, path)).toBe(
          matches(`/${a}/${c}`, path) || matches(`/${b}/${c}`, path),
        )
        expect(matches(`/a**b`, path)).toBe(/^\/a.*b$/.test(path))
      }),
    )
  })

  it('covers the subtree of a match when it restricts, and nothing else', () => {
    fc.assert(
      fc.property(
        fc.array(glob, { minLength: 1, maxLength: 3 }),
        fc.array(name, { minLength: 1, maxLength: 4 }),
        (parts, names) => {
          const pattern = `/${parts.join('/')}`
          const above = names.map((_, at) => `/${names.slice(0, at + 1).join('/')}`)
          expect(matches(pattern, `/${names.join('/')}`, 'restrict')).toBe(
            above.some((path) => matches(pattern, path)),
          )
        },
      ),
    )
  })

  it('throws only PatternError, for any input', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), fc.string({ unit: anyCharacter }), (pattern, path) => {
        try {
          matches(pattern, `/${path}`)
          matches(pattern, `/${path}`, 'restrict')
        } catch (error) {
          expect(['invalid_pattern', 'unknown_variable']).toContain((error as { code?: string }).code)
        }
      }),
    )
  })
})
