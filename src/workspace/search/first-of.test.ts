import fc from 'fast-check'
import { expect, it } from 'vitest'
import { propertyRuns } from '../../../test/support/property-runs.js'
import { byName, createFirstOf } from './first-of.js'

it('returns the same as sorting everything', () => {
  const many = fc.array(fc.nat(5_000).map(String), { maxLength: 4_000 })
  fc.assert(
    fc.property(many, fc.constantFrom(0, 1, 10, 600, 10_000), (paths, limit) => {
      const first = createFirstOf(limit, byName)
      for (const path of paths) first.add(path)
      expect(first.items()).toEqual(paths.toSorted().slice(0, limit))
      expect(first.total).toBe(paths.length)
    }),
    { numRuns: propertyRuns(50) },
  )
})
