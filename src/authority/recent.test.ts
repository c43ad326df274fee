import { expect, it } from 'vitest'
import { Recent } from './recent.js'

it('stores recently used values up to a maximum, and no value whose creation failed', () => {
  const recent = new Recent<{ readonly of: string }>(2)
  const get = (key: string): object => recent.get(key, () => ({ of: key }))
  const a = get('a')
  const b = get('b')
  expect(get('a')).toBe(a)
  get('c')
  expect(get('a')).toBe(a)
  expect(get('b')).not.toBe(b)
  expect(() =>
    recent.get('d', () => {
      throw new Error('no')
    }),
  ).toThrow('no')
  expect(recent.get('d', () => ({ of: 'd' }))).toEqual({ of: 'd' })
})
