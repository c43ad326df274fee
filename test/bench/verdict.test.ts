import { expect, it } from 'vitest'
import { growthExponent, spread } from '../../bench/measure.mjs'
import { judged, verdictLine, verdicts } from '../../bench/verdict.mjs'

it.each([
  [{ most: 1.5, found: 1.5 }, true],
  [{ most: 1.5, found: 1.51 }, false],
  [{ least: 8, found: 16.5 }, true],
  [{ least: 8, found: 7.9 }, false],
  [{ most: 1.5, found: Number.NaN }, false],
  [{ most: 1.5, found: Number.POSITIVE_INFINITY }, false],
])('judges %o: %s', (given, met) => {
  expect(judged({ name: 'a round', unit: 'times', ...given }).met).toBe(met)
})

it('judges recorded results again, and counts what was not measured as missed', () => {
  // As JSON has it: what was not a number is null, and what the file says about itself counts for nothing.
  const recorded = JSON.parse(
    JSON.stringify([
      { name: 'loop', targets: [{ name: 'a round', unit: 'times', most: 1.5, found: 1.9, met: true }] },
      { name: 'peers', targets: [{ name: 'import', unit: 'times', most: 1, found: Number.NaN }] },
      { name: 'bare' },
    ]),
  )
  const lines = verdicts(recorded).map(({ area, target }) => `${area}: ${verdictLine(target)}`)
  expect(lines).toEqual([
    'loop: MISSED a round: 1.9 times, target at most 1.5',
    'peers: MISSED import: nothing measured times, target at most 1',
  ])
})

it('estimates the exponent with which a cost grows', () => {
  const sizes = [10, 100, 1_000, 10_000]
  expect(growthExponent(sizes.map((size) => ({ size, value: 3 * size })))).toBeCloseTo(1)
  expect(growthExponent(sizes.map((size) => ({ size, value: 0.1 * size ** 2 })))).toBeCloseTo(2)
  expect(growthExponent(sizes.map((size) => ({ size, value: 7 })))).toBeCloseTo(0)
})

it('returns the median of samples and their spread', () => {
  const hundred = Array.from({ length: 101 }, (_, at) => 100 - at)
  expect(spread(hundred)).toEqual({ median: 50, p10: 10, p90: 90, p99: 99 })
})
