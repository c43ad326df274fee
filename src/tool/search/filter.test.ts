import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { vectorFilter as f, matchesVectorFilter, type VectorFilter } from './filter.js'

const metadata = { team: 'billing', version: 3, beta: true, owner: null }

describe('matchesVectorFilter', () => {
  it.each<[VectorFilter, boolean]>([
    [f.eq('team', 'billing'), true],
    [f.eq('team', 'search'), false],
    [f.eq('owner', null), true],
    [f.eq('missing', null), false],
    [f.eq('toString', null), false],
    [f.gt('version', 2), true],
    [f.gt('version', 3), false],
    [f.lt('version', 4), true],
    [f.lt('version', '4'), false],
    [f.gt('team', 'a'), true],
    [f.gt('owner', 0), false],
    [f.and(f.eq('beta', true), f.gt('version', 2)), true],
    [f.and(f.eq('beta', false), f.gt('version', 2)), false],
    [f.and(), true],
    [f.or(f.eq('team', 'search'), f.lt('version', 9)), true],
    [f.or(), false],
  ])('evaluates %j as %s', (filter, expected) => {
    expect(matchesVectorFilter(metadata, filter)).toBe(expected)
  })

  it('matches everything without a filter, and nothing without metadata', () => {
    expect(matchesVectorFilter(undefined, undefined)).toBe(true)
    expect(matchesVectorFilter(undefined, f.and())).toBe(false)
  })

  it('narrows with and, widens with or', () => {
    const leaf = fc
      .tuple(fc.constantFrom('team', 'version', 'x'), fc.oneof(fc.string(), fc.integer()))
      .map(([key, value]) => f.eq(key, value))
    fc.assert(
      fc.property(
        leaf,
        leaf,
        fc.dictionary(fc.constantFrom('team', 'version', 'x'), fc.oneof(fc.string(), fc.integer())),
        (a, b, data) => {
          const [one, other] = [matchesVectorFilter(data, a), matchesVectorFilter(data, b)]
          expect(matchesVectorFilter(data, f.and(a, b))).toBe(one && other)
          expect(matchesVectorFilter(data, f.or(a, b))).toBe(one || other)
        },
      ),
    )
  })
})
