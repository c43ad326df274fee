import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ArgPattern, RequirementSet } from '../tool/requirement.js'
import { matchesArg, matchesCommand, unionRequirements } from './requirements.js'

describe('unionRequirements', () => {
  it('contains everything that any set contains, once', () => {
    expect(
      unionRequirements(
        { fs: { read: ['{workspace}/**'] }, shell: [{ cmd: 'git', args: ['status'] }] },
        {},
        {
          fs: { read: ['{workspace}/**', 'docs/**'], write: ['out/**'] },
          net: { hosts: ['example.com'] },
          shell: [{ args: ['status'], cmd: 'git' }, { cmd: 'ls' }],
        },
        { capabilities: ['secrets.has'] },
      ),
    ).toEqual({
      fs: { read: ['{workspace}/**', 'docs/**'], write: ['out/**'] },
      net: { hosts: ['example.com'] },
      shell: [{ cmd: 'git', args: ['status'] }, { cmd: 'ls' }],
      capabilities: ['secrets.has'],
    })
  })

  it('is empty when all sets are', () => {
    expect(unionRequirements()).toEqual({})
    expect(unionRequirements({}, {})).toEqual({})
  })

  const patterns = fc.array(fc.constantFrom('a/**', 'b/*', '{workspace}/**'), { maxLength: 3 })
  const args: fc.Arbitrary<ArgPattern> = fc.oneof(
    fc.constantFrom('status', 'log'),
    fc.constant({ wildcard: true as const }),
    fc.constantFrom('-', '--').map((prefix) => ({ prefix })),
  )
  const sets: fc.Arbitrary<RequirementSet> = fc.record(
    {
      fs: fc.record({ read: patterns, write: patterns }, { requiredKeys: [] }),
      net: fc.record(
        { hosts: fc.array(fc.constantFrom('a.com', '*.b.com'), { maxLength: 2 }) },
        { requiredKeys: [] },
      ),
      shell: fc.array(
        fc.record(
          { cmd: fc.constantFrom('git', 'ls'), args: fc.array(args, { maxLength: 2 }) },
          { requiredKeys: ['cmd'] },
        ),
        { maxLength: 3 },
      ),
      capabilities: fc.array(fc.constantFrom('x', 'y'), { maxLength: 2 }),
    },
    { requiredKeys: [] },
  )
  it('does not depend on grouping, and adding a set twice adds nothing', () => {
    fc.assert(
      fc.property(sets, sets, sets, (a, b, c) => {
        const all = unionRequirements(a, b, c)
        expect(unionRequirements(unionRequirements(a, b), c)).toEqual(all)
        expect(unionRequirements(all, a, b)).toEqual(all)
      }),
    )
  })
})

describe('matchesCommand', () => {
  it.each<[ArgPattern[] | undefined, string[], boolean]>([
    [undefined, ['git', 'push', '--force'], true],
    [undefined, ['git'], true],
    [[], ['git'], true],
    [[], ['git', 'push'], false],
    [['status'], ['git', 'status'], true],
    [['status'], ['git', 'status', '--short'], false],
    [['status'], ['git'], false],
    [['status'], ['git', 'Status'], false],
    [['show', { wildcard: true }], ['git', 'show', 'HEAD'], true],
    [['show', { wildcard: true }], ['git', 'show'], false],
    [['show', { wildcard: true }], ['git', 'show', 'a', 'b'], false],
    [['log', { prefix: '--since=' }], ['git', 'log', '--since=1.week'], true],
    [['log', { prefix: '--since=' }], ['git', 'log', '--until=1.week'], false],
    [[{ prefix: '' }], ['git', 'anything'], true],
    [['log'], ['hg', 'log'], false],
    [['log'], ['/usr/bin/git', 'log'], false],
    [['log'], [], false],
  ])('git %j against %j is %s', (args, argv, expected) => {
    expect(matchesCommand({ cmd: 'git', ...(args === undefined ? {} : { args }) }, argv)).toBe(expected)
  })

  it('matches a command made of exact words only with those words', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), fc.array(fc.string()), (args, other) => {
        expect(matchesCommand({ cmd: 'x', args }, ['x', ...args])).toBe(true)
        expect(matchesCommand({ cmd: 'x', args }, ['x', ...other])).toBe(
          JSON.stringify(args) === JSON.stringify(other),
        )
      }),
    )
  })
})

describe('matchesArg', () => {
  it('compares a prefix like strings do', () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.string(),
        (prefix, arg) => matchesArg({ prefix }, arg) === arg.startsWith(prefix),
      ),
    )
  })

  it('matches any one argument with a wildcard', () => {
    fc.assert(fc.property(fc.string(), (arg) => matchesArg({ wildcard: true }, arg)))
  })
})
