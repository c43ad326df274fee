import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { VectorBlock } from './vector-block.js'

const cosine = (a: readonly number[], b: readonly number[]): number => {
  const dot = (x: readonly number[], y: readonly number[]): number =>
    x.reduce((sum, value, i) => sum + value * (y[i] ?? 0), 0)
  const lengths = Math.sqrt(dot(a, a)) * Math.sqrt(dot(b, b))
  return lengths === 0 ? 0 : dot(a, b) / lengths
}
const vectors = (dimensions: number): fc.Arbitrary<number[]> =>
  fc.array(
    fc.integer({ min: -1e5, max: 1e5 }).map((n) => n / 1000),
    { minLength: dimensions, maxLength: dimensions },
  )

describe('VectorBlock', () => {
  it('returns the cosine of the query with every row', () => {
    fc.assert(
      fc.property(
        fc
          .integer({ min: 1, max: 40 })
          .chain((dimensions) =>
            fc.tuple(vectors(dimensions), fc.array(vectors(dimensions), { minLength: 1, maxLength: 40 })),
          ),
        ([query, rows]) => {
          const block = new VectorBlock()
          for (const row of rows) block.push(row)
          const scores = block.scores(query)
          expect(scores).toHaveLength(rows.length)
          rows.forEach((row, i) => {
            expect(scores[i]).toBeCloseTo(cosine(query, row), 4)
          })
        },
      ),
    )
  })

  it('keeps the other rows when some are removed, and can grow again', () => {
    const block = new VectorBlock()
    for (let i = 0; i < 100; i++) block.push([i, 100 - i, 1])
    block.remove(10, 5)
    block.remove(0, 1)
    for (let i = 100; i < 200; i++) block.push([i, 100 - i, 1])
    const left = Array.from({ length: 200 }, (_, i) => i).filter((i) => i !== 0 && !(i >= 10 && i < 15))
    expect(block.rows).toBe(left.length)
    const scores = block.scores([1, 2, 3])
    left.forEach((i, at) => {
      expect(scores[at]).toBeCloseTo(cosine([1, 2, 3], [i, 100 - i, 1]), 5)
    })
  })

  it('scores a zero vector as 0, and numbers of any size without overflow', () => {
    const block = new VectorBlock()
    for (const row of [
      [0, 0],
      [1e-200, 1e-200],
      [1e200, 1e200],
      [1e-3, 0],
    ])
      block.push(row)
    const scores = [...block.scores([1e-250, 1e-250])]
    expect(scores[0]).toBe(0)
    expect(scores[1]).toBeCloseTo(1, 6)
    expect(scores[2]).toBeCloseTo(1, 6)
    expect(scores[3]).toBeCloseTo(Math.SQRT1_2, 6)
  })

  it('accepts vectors of another length once it is empty again', () => {
    const block = new VectorBlock()
    block.push([1, 2, 3])
    block.remove(0, 1)
    block.push([1, 0])
    expect([...block.scores([2, 0])]).toEqual([1])
  })

  it('is empty at first', () => {
    expect(new VectorBlock().scores([1, 2])).toHaveLength(0)
  })

  it('rejects vectors that do not fit, and names what they belong to', () => {
    const block = new VectorBlock()
    block.push([1, 2, 3])
    expect(() => block.push([1, 2], 'tool "x"')).toThrow(
      'The vector of tool "x" has 2 dimensions where the others have 3.',
    )
    expect(() => block.push([], 'tool "x"')).toThrow('is empty')
    expect(() => block.push([1, Number.NaN, 3], 'tool "x"')).toThrow('not finite (at 1)')
    expect(() => block.scores([1])).toThrow('The vector of the query has 1 dimensions')
    expect(block.rows).toBe(1)
  })
})
