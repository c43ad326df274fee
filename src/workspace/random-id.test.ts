import { expect, it } from 'vitest'
import { randomId } from './random-id.js'

it('returns UUIDs of version 4, each different, with every random bit used', () => {
  const ids = Array.from({ length: 500 }, randomId)
  expect(new Set(ids).size).toBe(ids.length)
  for (const id of ids)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  // Each of the 122 random bits is set in some ids and not in others.
  const bits = ids.map((id) => BigInt(`0x${id.replaceAll('-', '')}`))
  const always = bits.reduce((all, one) => all & one)
  const ever = bits.reduce((some, one) => some | one)
  const fixed = (1n << 78n) | (1n << 79n) | (1n << 77n) | (1n << 76n) | (1n << 63n) | (1n << 62n)
  expect(always).toBe((1n << 78n) | (1n << 63n))
  expect(ever | fixed).toBe((1n << 128n) - 1n)
  // No id shares random bytes with another, whose owner could guess it: five in a row occur once.
  const runs = ids.flatMap((id) =>
    [0, 1, 9, 10, 11].map((at) => id.replaceAll('-', '').slice(2 * at, 2 * at + 10)),
  )
  expect(new Set(runs).size).toBe(runs.length)
})
