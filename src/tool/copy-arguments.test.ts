import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { copyArguments } from './copy-arguments.js'

class OwnMap extends Map<string, number> {
  toJSON(): [string, number][] {
    return [...this]
  }
}

const pooled = Buffer.from('hello')
const bytes = new Uint8Array([0, 1, 2, 3])

it.each<[string, object]>([
  ['an object without a prototype', Object.assign(Object.create(null), { a: 1 })],
  ['an object of another realm', runInNewContext('({ a: { b: 1 } })')],
  ['a list with holes at its end', Object.assign([1], { length: 3 })],
  ['a date', new Date(0)],
  ['an invalid date', new Date(Number.NaN)],
  ['a regular expression', /a/g],
  ['a URL', new URL('https://example.com/?a=1')],
  ['a map', new Map([['a', { b: 1 }]])],
  ['a set', new Set([{ b: 1 }])],
  ['a Buffer', pooled],
  ['a part of bytes', bytes.subarray(1, 3)],
  ['a DataView', new DataView(bytes.buffer, 1, 2)],
  ['an ArrayBuffer', bytes.buffer],
])('copies %s as what it is', (_, value) => {
  const copied = copyArguments({ value }) as { value: object }
  expect(copied.value).not.toBe(value)
  expect(copied.value).toEqual(value)
  expect(JSON.stringify(copied)).toBe(JSON.stringify({ value }))
  expect(Object.getPrototypeOf(copied.value)).toBe(
    Array.isArray(value) ? Array.prototype : Object.getPrototypeOf(value),
  )
})

it('copies the bytes of a view and nothing else of its memory', () => {
  const copied = copyArguments(pooled) as Buffer
  copied[0] = 0
  expect(pooled.toString()).toBe('hello')
  const part = copyArguments(new Uint8Array(1_000).subarray(0, 2)) as Uint8Array
  expect(part.buffer.byteLength).toBe(2)
})

it('copies members of maps and sets, and returns objects of own classes unchanged wherever they are', () => {
  const own = new OwnMap([['a', 1]])
  const inner = { n: 1 }
  const copied = copyArguments({ own, map: new Map<unknown, unknown>([[inner, own]]), set: new Set([inner]) })
  const {
    own: same,
    map,
    set,
  } = copied as { own: unknown; map: Map<{ n: number }, unknown>; set: Set<object> }
  expect(same).toBe(own)
  const [[key, value] = []] = map
  expect(value).toBe(own)
  expect(key).toEqual(inner)
  expect(key).not.toBe(inner)
  // One object at two places stays one object.
  expect(set.has(key ?? {})).toBe(true)
})

it('copies objects that contain themselves', () => {
  const map = new Map<string, unknown>()
  const value = { map, list: [] as unknown[] }
  map.set('value', value)
  value.list.push(value, map)
  const copied = copyArguments(value) as typeof value
  expect(copied).not.toBe(value)
  expect(copied.map.get('value')).toBe(copied)
  expect(copied.list).toEqual([copied, copied.map])
})

it('keeps a key that names the prototype a key', () => {
  const copied = copyArguments(JSON.parse('{"__proto__":{"admin":true}}')) as { admin?: boolean }
  expect(copied.admin).toBeUndefined()
  expect(JSON.stringify(copied)).toBe('{"__proto__":{"admin":true}}')
})

it('keeps keys that objects and lists inherit, without calling what they inherit', () => {
  const list = Object.assign([1], { map: 'own' })
  const value = { ...JSON.parse('{"toString":1,"constructor":{"prototype":2}}'), list }
  const copied = copyArguments(value) as typeof value
  expect(copied).toEqual(value)
  expect(Object.keys(copied)).toEqual(['toString', 'constructor', 'list'])
  expect(Object.keys(copied.list)).toEqual(['0', 'map'])
})
