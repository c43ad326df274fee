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
  for (let at = 0; at < 1_100; at++) flatten({ [`key ${at}`]: at })
  const values = [{ new: true, type: 'a' }, { newer: undefined }, [{ newest: { list: [{}] } }]]
  for (const value of values) {
    expect(flatten(value)).toBeTypeOf('string')
    expect(restored(value)).toStrictEqual(value)
  }
})

/** Any sequence of code units. Strings of fast-check's unit `binary` take a second to prepare. */
const anyText = fc.array(fc.nat(0xffff), { maxLength: 40 }).map((units) => String.fromCharCode(...units))

test('keeps texts of every script, halves of a surrogate pair, and repeated texts', () => {
  const text = 'ä € 😀 \u0000 \ud83d'.repeat(5)
  const value = { one: text, list: [text, { two: text, three: '[2,0]' }], last: '\udc00' }
  expect(restored(value)).toStrictEqual(value)
  fc.assert(
    fc.property(fc.array(anyText), (texts) => {
      expect(restored([...texts, ...texts])).toStrictEqual([...texts, ...texts])
    }),
  )
})

test('keeps numbers that JSON does not have', () => {
  const value = [Number.NaN, -0, Number.POSITIVE_INFINITY, 0.1, 2 ** 60, 10n]
  expect(restored(value)).toStrictEqual(value)
})

test('stores repeated messages in a string that is shorter than one of them', () => {
  const text = Array.from({ length: 100 }, (_, at) => `export const value${at} = ${at}`).join('\n')
  const flat = flatten([
    { type: 'text', text },
    { type: 'result', output: text },
  ])
  expect(flat).toBeTypeOf('string')
  expect(flat?.length).toBeLessThan(text.length / 2)
})

test('does not compress texts that are so long that other sessions would wait', () => {
  const value = { text: 'x'.repeat(100_000) }
  expect(flatten(value)).toBeInstanceOf(Array)
  expect(restored(value)).toStrictEqual(value)
})
