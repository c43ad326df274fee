import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { coerceToSchema } from './coerce-args.js'
import { compileJsonSchema } from './json-schema.js'

const schema = {
  type: 'object',
  properties: {
    text: { type: 'string' },
    count: { type: 'integer' },
    ratio: { type: 'number' },
    on: { type: 'boolean' },
    list: { type: 'array', items: { type: 'string' } },
    numbers: { type: 'array', items: { type: 'integer' } },
    object: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
    objects: { type: 'array', items: { $ref: '#/$defs/item' } },
    maybe: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
    either: { anyOf: [{ type: 'integer' }, { type: 'string' }] },
    both: { type: ['string', 'array'], items: { type: 'string' } },
    free: {},
    choice: { enum: [1, 2] },
  },
  required: ['text'],
  $defs: { item: { type: 'object', properties: { n: { type: 'integer' } } } },
}

describe('coerceToSchema', () => {
  it.each([
    [{ count: '5' }, { count: 5 }],
    [{ count: ' -12 ' }, { count: -12 }],
    [{ count: '5.0' }, { count: 5 }],
    [{ ratio: '1.5e2' }, { ratio: 150 }],
    [{ on: 'true' }, { on: true }],
    [{ on: 'False' }, { on: false }],
    [{ text: 404 }, { text: '404' }],
    [{ list: 'one' }, { list: ['one'] }],
    [{ list: '["a", "b"]' }, { list: ['a', 'b'] }],
    [{ numbers: 7 }, { numbers: [7] }],
    [{ numbers: ['1', 2] }, { numbers: [1, 2] }],
    [{ object: '{"n": "3"}' }, { object: { n: 3 } }],
    [{ objects: { n: '1' } }, { objects: [{ n: 1 }] }],
    [{ objects: [{ n: '1' }, '{"n": 2}'] }, { objects: [{ n: 1 }, { n: 2 }] }],
    [{ maybe: '4' }, { maybe: 4 }],
    [{ maybe: null }, { maybe: null }],
    [{ count: null, on: null }, {}],
    ['{"count": "5"}', { count: 5 }],
  ])('reads %j as %j', (given, read) => {
    expect(coerceToSchema(schema, given).value).toEqual(read)
  })

  it.each([
    [{ count: 'five' }],
    [{ count: '5 apples' }],
    [{ count: '1.5' }],
    [{ count: '0x10' }],
    [{ count: '' }],
    [{ count: '99999999999999999999' }],
    [{ count: true }],
    [{ on: 'yes' }],
    [{ on: 1 }],
    [{ text: null }],
    [{ text: true }],
    [{ text: 1.5 }],
    [{ text: ['a'] }],
    [{ list: 5 }],
    [{ numbers: '{"a": 1}' }],
    [{ object: '{"n": ' }],
    [{ object: 'n=3' }],
    [{ object: [] }],
    [{ either: '5' }],
    [{ both: '["a"]' }],
    [{ free: '5' }],
    [{ choice: '1' }],
    [{ unknown: '5' }],
    ['just text'],
    [[]],
    [null],
  ])('leaves %j unchanged', (given) => {
    const { value, coercions } = coerceToSchema(schema, given)
    expect(value).toEqual(given)
    expect(coercions).toEqual([])
  })

  it('lists what was converted, and where', () => {
    const { coercions } = coerceToSchema(schema, { count: '5', on: null, objects: [{ n: '1' }], list: 'x' })
    expect(coercions).toEqual([
      'count: text was read as integer',
      'on: null was left out',
      'objects[0].n: text was read as integer',
      'list: one value was read as a list of one',
    ])
  })

  it('changes nothing that already fits the schema', () => {
    const { check } = compileJsonSchema(schema)
    const value = fc.record(
      {
        text: fc.string(),
        count: fc.integer(),
        on: fc.boolean(),
        list: fc.array(fc.oneof(fc.string(), fc.constant('5'), fc.constant('["x"]'))),
        maybe: fc.option(fc.integer()),
        either: fc.oneof(fc.integer(), fc.constant('5')),
        free: fc.jsonValue(),
      },
      { requiredKeys: ['text'] },
    )
    fc.assert(
      fc.property(value, (args) => {
        expect(check(args).ok).toBe(true)
        expect(coerceToSchema(schema, args)).toEqual({ value: args, coercions: [] })
      }),
    )
  })

  it('SEC-237: changes neither its input nor prototypes, and always ends', () => {
    const given = Object.freeze({ object: '{"n": "1", "__proto__": {"polluted": 1}}', count: '5' })
    expect(coerceToSchema(schema, given).value).toEqual({ object: { n: 1 }, count: 5 })
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
    const loop = {
      type: 'object',
      properties: { a: { $ref: '#/$defs/l' } },
      $defs: { l: { $ref: '#/$defs/l' } },
    }
    expect(coerceToSchema(loop, { a: '5' }).value).toEqual({ a: '5' })
    const many = { numbers: Array.from({ length: 1_000 }, () => '1') }
    expect(coerceToSchema(schema, many).coercions).toHaveLength(50)
  })
})
