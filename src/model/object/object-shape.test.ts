import { describe, expect, it } from 'vitest'
import { compileJsonSchema } from '../../tool/json-schema.js'
import { readings, shapeOf } from './object-shape.js'

describe('the shape that is sent', () => {
  it('is the schema itself where that has an object at its root', () => {
    const schema = { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object', properties: {} }
    expect(shapeOf(schema)).toEqual({ schema, sent: { type: 'object', properties: {} }, wrapped: false })
  })

  it.each([
    { type: 'array' },
    { type: 'string' },
    { enum: ['a'] },
    { type: ['object', 'null'] },
    { type: 'object', anyOf: [{ required: ['a'] }] },
    { oneOf: [{ type: 'object' }] },
    { $ref: '#/$defs/a', $defs: { a: { type: 'object' } } },
    {},
  ])('has the schema as a member if it has no object at its root: %j', (schema) => {
    expect(shapeOf(schema)).toMatchObject({
      wrapped: true,
      sent: { type: 'object', required: ['value'], additionalProperties: false },
    })
  })

  it('accepts the same values as before, wherever references point', () => {
    const list = { type: 'array', items: { anyOf: [{ type: 'number' }, { $ref: '#' }] } }
    const inside = { anyOf: [{ type: 'string' }, { type: 'array', items: { $ref: '#/anyOf/0' } }] }
    const defined = {
      type: 'array',
      items: { $ref: '#/$defs/item' },
      $defs: { item: { type: 'object', properties: { next: { $ref: '#/$defs/item' } }, required: ['id'] } },
    }
    const addressed = {
      $id: 'https://example.test/list',
      type: 'array',
      items: { $ref: '#/$defs/n' },
      $defs: { n: { type: 'number' } },
    }
    const cases: [Record<string, unknown>, unknown, unknown][] = [
      [list, [1, [2, [3]]], [1, ['x']]],
      [inside, ['a'], [1]],
      [defined, [{ id: 1, next: { id: 2 } }], [{ id: 1, next: {} }]],
      [addressed, [1], ['x']],
    ]
    for (const [schema, good, bad] of cases) {
      const sent = compileJsonSchema(shapeOf(schema).sent)
      expect(compileJsonSchema(schema).check(good).ok).toBe(true)
      expect(sent.check({ value: good }).ok).toBe(true)
      expect(compileJsonSchema(schema).check(bad).ok).toBe(false)
      expect(sent.check({ value: bad }).ok).toBe(false)
    }
  })
})

describe('the readings of a written value', () => {
  it('are the value itself, and before that its member if it was wrapped', () => {
    expect(readings({ wrapped: false }, { value: 1 })).toEqual([{ value: 1 }])
    expect(readings({ wrapped: true }, { value: 1 })).toEqual([1, { value: 1 }])
    expect(readings({ wrapped: true }, [1])).toEqual([[1]])
  })
})
