import { expect, it } from 'vitest'
import { regressions } from '../../bench/compare/regressions.mjs'

const row = (name: string, ratio: number) => ({
  name,
  unit: 'ms CPU',
  before: 2,
  now: 2 * ratio,
  ratio: { median: ratio, p10: ratio, p90: ratio, p99: ratio },
  pairs: 5,
})

it('names the rows of a comparison that take over 15 % more than before, and those that were not measured', () => {
  const lines = regressions([row('a', 1.15), row('b', 1.2), row('c', 0.5), row('d', Number.NaN)])
  expect(lines).toHaveLength(2)
  expect(lines[0]).toBe('b: 2.000 before, 2.400 now (ms CPU), 1.20 times, at most 1.15')
  expect(lines[1]).toContain('d: ')
})
