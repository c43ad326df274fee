import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { propertyRuns } from '../../test/support/property-runs.js'
import { compileCommandPattern } from './command-pattern.js'
import { compileMatcher, type HookMatcher } from './matcher.js'

const place = { sessionId: 's1', workspace: '/ship' }
const fits = (matcher: HookMatcher, payload: object, where = place) =>
  compileMatcher('pre_tool_use', matcher)(payload, where)
const call = (tool: string, args: unknown) => ({ tool, args })

describe('a matcher', () => {
  it.each<[HookMatcher, object, boolean]>([
    [{}, call('bash', {}), true],
    [{ tool: 'bash' }, call('bash', {}), true],
    [{ tool: 'bash' }, call('bash ', {}), false],
    [{ tool: 'ba*' }, call('bash', {}), false],
    [{ sessionId: 's1' }, call('x', {}), true],
    [{ sessionId: 's2' }, call('x', {}), false],
    [{ tool: 'bash', sessionId: 's2' }, call('bash', {}), false],
    [{ pathPattern: 'src/**' }, call('write', { file_path: 'src/a/b.ts' }), true],
    [{ pathPattern: 'src/**' }, call('write', { file_path: '/ship/src/a.ts' }), true],
    [{ pathPattern: 'src/**' }, call('write', { file_path: 'src/../lib/a.ts' }), false],
    [{ pathPattern: 'src/**' }, call('write', { file_path: 'lib/../src/a.ts' }), true],
    [{ pathPattern: '*.md' }, call('write', { path: 'README.md' }), true],
    [{ pathPattern: '*.md' }, call('write', { path: 'docs/README.md' }), false],
    [{ pathPattern: '**/.env*' }, call('write', { path: '/elsewhere/.env.local' }), true],
    [{ pathPattern: '**/.env*' }, call('edit', { paths: ['a', 'b/.env'] }), true],
    [{ pathPattern: '**' }, call('write', { path: '/anything' }), true],
    [{ pathPattern: '**' }, call('think', { thought: 'no path' }), false],
    [{ pathPattern: 'src/**' }, { ...call('patch', { text: 'x' }), paths: ['/ship/src/x'] }, true],
    [{ commandPattern: '^git push' }, call('bash', { command: 'git push' }), true],
    [{ commandPattern: '^git push' }, call('bash', { command: 'echo git push' }), false],
    [{ commandPattern: 'push' }, call('git', { args: ['push'] }), false],
    [{ commandPattern: /PUSH/gi }, call('bash', { command: 'git push' }), true],
    [{ commandPattern: 'push' }, { ...call('git', {}), commands: ['git push'] }, true],
    [{ commandPattern: 'push', pathPattern: 'src/**' }, call('x', { command: 'push', path: 'lib/a' }), false],
    [{ commandPattern: 'push' }, call('bash', null), false],
    [{ commandPattern: 'push' }, call('bash', { command: 7 }), false],
  ])('%j of %j: %s', (matcher, payload, expected) => {
    expect(fits(matcher, payload)).toBe(expected)
  })

  it('compares the case of paths as the volume does', () => {
    const env = { pathPattern: '**/.env' }
    expect(fits(env, call('write', { path: '.ENV' }))).toBe(false)
    expect(fits(env, call('write', { path: '.ENV' }), { ...place, ...{ ignoreCase: true } })).toBe(true)
  })

  it.each([
    ['release-*', 'release-review', true],
    ['release-*', 'prerelease-review', false],
    ['{a,b}?', 'b2', true],
    ['team:**', 'team:x/y', true],
    ['a/b', 'a/b', true],
    ['*', '.hidden', true],
  ])('of skills: %s matches %s: %s', (skill, skill_name, expected) => {
    expect(compileMatcher('skill_load', { skill })({ skill_name }, place)).toBe(expected)
  })

  it('gives the same answer the second time: a regular expression keeps no position', () => {
    const matcher = compileMatcher('pre_tool_use', { commandPattern: /a/g })
    expect([1, 2, 3].map(() => matcher(call('bash', { command: 'a' }), place))).toEqual([true, true, true])
  })
})

describe('a pattern for commands', () => {
  it.each([
    ['(a+)+$', `${'a'.repeat(40)}b`],
    ['(a|a)*$', `${'a'.repeat(60)}b`],
    ['git.*push.*--force', 'git '.repeat(1000) + 'push '.repeat(800)],
    ['(?:x?){40}$', `${'x'.repeat(4000)}y`],
    ['^(\\w+\\s?)*$', `${'word '.repeat(30)}!`],
  ])('that would run forever is stopped, and counts as undecided: %s', (pattern, command) => {
    const test = compileCommandPattern(pattern)
    expect(test(command)).toBe('undecided')
    // Whether it fits cannot be said, so the hook is called and looks itself.
    expect(fits({ commandPattern: pattern }, call('bash', { command }))).toBe(true)
  })

  it('does not test commands that are too long, and calls the hook', () => {
    const command = `${' '.repeat(9_000)}git push`
    expect(compileCommandPattern('push')(command)).toBe('undecided')
    expect(fits({ commandPattern: 'push' }, call('bash', { command }))).toBe(true)
  })

  it('agrees with the regular expression itself, with and without the time limit', () => {
    const patterns = [
      'a',
      'a+',
      'a*b',
      'a+b+',
      '(ab)+',
      '[ab]{2}c',
      '^a.*b$',
      'a|b+c',
      '\\ba\\b',
      '(?:a|b)?c',
      '(a)\\1',
    ]
    fc.assert(
      fc.property(
        fc.constantFrom(...patterns),
        fc.string({ unit: fc.constantFrom('a', 'b', 'c', ' '), maxLength: 12 }),
        fc.boolean(),
        (pattern, short, long) => {
          const command = long ? short + 'c'.repeat(1100) : short
          const expected = new RegExp(pattern).test(command) ? 'yes' : 'no'
          // On a busy machine, the usual limit of 100 ms can pass before the expression runs.
          expect(compileCommandPattern(pattern, 60_000)(command)).toBe(expected)
        },
      ),
      { numRuns: propertyRuns(300) },
    )
  })
})
