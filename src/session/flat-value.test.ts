import fc from 'fast-check'
import { expect, test } from 'vitest'
import { flatten, unflatten } from './flat-value.js'

function restored(value: unknown): unknown {
  const flat = flatten(value)
  return flat === undefined ? value : unflatten(flat)
}

test('returns plain data unchanged, whatever its keys and texts are', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(restored(value)).toStrictEqual(value)
    }),
  )
})

test('keeps values that are not plain data: undefined, bytes, dates, instances of classes', () => {
  class Own {
    readonly field = 1
  }
  const value = {
    missing: undefined,
    bytes: new Uint8Array([1, 2]),
    date: new Date(0),
    own: new Own(),
    list: [undefined, [], {}],
    bare: Object.create(null),
  }
  expect(restored(value)).toStrictEqual(value)
})

test('keeps objects with a key that would set their prototype', () => {
  const value: unknown = JSON.parse('{"inner":{"__proto__":{"admin":true}}}')
  expect(JSON.stringify(restored(value))).toBe('{"inner":{"__proto__":{"admin":true}}}')
})

test('does not write lists of thousands of values, and ends with values that contain themselves', () => {
  expect(flatten(Array.from({ length: 5_000 }, (_, at) => at))).toBeUndefined()
  const cycle: unknown[] = []
  cycle.push(cycle)
  expect(flatten([cycle])?.length).toBeLessThan(100)
  const tree: unknown[] = []
  tree.push(tree, tree)
  expect(flatten(tree)).toBeUndefined()
})

test('distinguishes keys that look the same in a row', () => {
  const values = [
    { 'a,b': 1, c: 2 },
    { a: 1, 'b,c': 2 },
    { a: 1, b: 2, c: 3 },
    { type: 'true', role: null },
    { type: true, role: 'null' },
    { type: undefined, role: 'undefined' },
    { type: 'undefined', role: undefined },
  ]
  for (const value of values) expect(restored(value)).toStrictEqual(value)
})

test('keeps objects with new keys unchanged once a thousand sets of keys are known', () => {
  const values = Array.from({ length: 1_200 }, (_, at) => ({ [`key ${at}`]: at }))
  for (const value of values) expect(restored(value)).toStrictEqual(value)
})
