import { expect, describe as group, it } from 'vitest'
import {
  able,
  between,
  both,
  type Check,
  count,
  describe,
  each,
  either,
  fields,
  is,
  list,
  object,
  oneOf,
  quote,
  readable,
  strings,
} from './option-check.js'

group('a check of an option', () => {
  it.each<[string, Check, readonly unknown[], readonly unknown[]]>([
    ['a string', is('string'), ['', 'x'], [1, null, undefined, {}]],
    ['a function', is('function'), [() => 1], ['x', {}]],
    ['a count', count(1), [1, 99], [0, -1, 1.5, '1', Number.NaN, Number.POSITIVE_INFINITY]],
    ['a share', between(0, 1), [0, 0.5, 1], [-0.1, 1.1, Number.NaN, '0']],
    ['a word', oneOf('on', 'off'), ['on'], ['ON', '', 1, 'toString']],
    ['an object', object, [{}, Object.create(null)], [[], 'x', 1]],
    ['strings', strings, [[], ['a']], ['a', ['a', 1], { 0: 'a' }]],
    ['a list', list, [[], [1]], ['x', {}]],
    ['a list of counts', each(count(0)), [[], [0, 1]], ['x', [0, -1]]],
    ['something that can read', able('read'), [{ read: () => 1 }], [{}, { read: 1 }, null, 'read']],
    ['a string or a list', either(is('string'), list), ['x', []], [1, {}]],
    ['a short string', both(is('string'), oneOf('a', 'b')), ['a'], [1, 'c']],
    [
      'a port',
      fields({ port: count(1) }),
      [{}, { port: 1 }, { port: undefined }, { port: null }],
      [[], { port: 0 }],
    ],
  ])('for %s accepts valid values and rejects others', (_, check, good, bad) => {
    expect(good.map(check)).toEqual(good.map(() => undefined))
    expect(bad.map((value) => typeof check(value))).toEqual(bad.map(() => 'string'))
  })

  it('names the place inside a list or an object', () => {
    expect(each(is('string'))(['a', 1])).toBe('%[1] must be a string, not 1.')
    expect(fields({ net: fields({ ports: each(count(1)) }) })({ net: { ports: [1, 0] } })).toBe(
      '%.net.ports[1] must be a whole number of at least 1, not 0.',
    )
  })

  it('names unknown fields, and those that every object has', () => {
    const check = fields({ port: count(1), host: is('string') })
    expect(check({ prot: 1 })).toBe('%.prot is not known. Known are: port, host.')
    expect(check({ constructor: 1 })).toContain('%.constructor is not known')
  })

  it('reports the message of a value’s parser', () => {
    const check = readable((value) => {
      if (value !== 'good') throw new Error('it is not good')
    })
    expect(check('good')).toBeUndefined()
    expect(check('bad')).toBe('%: it is not good')
  })

  it('never repeats a text, which could be a misplaced secret, unless it is a short word', () => {
    for (const check of [count(1), object, list, between(0, 1), is('boolean')])
      expect(check('hunter2-hunter2')).not.toContain('hunter2')
    expect(describe('hunter2')).toBe('a string')
    expect(describe(7)).toBe('7')
    expect(describe([])).toBe('a list')
    expect(describe(null)).toBe('a value of type object')
    expect(quote('onn')).toBe("'onn'")
    expect(quote('x'.repeat(41))).toBe('a string')
  })
})
