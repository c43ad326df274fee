import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { maxJsonLength } from './json-length.js'

describe('the upper bound of the length of a JSON text', () => {
  it('is never below the length', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), (value) => {
        expect(maxJsonLength(value)).toBeGreaterThanOrEqual(JSON.stringify(value).length)
      }),
    )
    for (const value of [
      '\0\u001f\ud800',
      -Number.MAX_VALUE,
      -5e-324,
      -1.234567890123e-300,
      [undefined],
      Array(3),
      true,
    ])
      expect(maxJsonLength(value)).toBeGreaterThanOrEqual(JSON.stringify(value).length)
  })

  it('is finite for small data, and infinite for a text longer than the maximum', () => {
    const value = { name: 'a'.repeat(10), list: [1, { inner: 'b' }] }
    expect(maxJsonLength(value, 10)).toBeLessThan(300)
    expect(maxJsonLength(value, 9)).toBe(Number.POSITIVE_INFINITY)
    expect(maxJsonLength({ ['key'.repeat(10)]: 1 }, 20)).toBe(Number.POSITIVE_INFINITY)
  })

  it.each([
    ['an object that creates its own JSON', { toJSON: () => 'x'.repeat(1_000) }],
    ['an object of a class', new URL('http://example.com')],
    ['bytes', new Uint8Array(8)],
    ['a function', () => 1],
    ['a bigint', 1n],
    ['a list with its own JSON', Object.assign([1], { toJSON: () => 'x' })],
    ['a long list', Array.from({ length: 101 }, () => 1)],
    ['deep data', JSON.parse(`${'['.repeat(40)}${']'.repeat(40)}`)],
  ])('is infinite for %s', (_name, value) => {
    expect(maxJsonLength(value)).toBe(Number.POSITIVE_INFINITY)
    expect(maxJsonLength({ inside: [value] })).toBe(Number.POSITIVE_INFINITY)
  })
})
