import { describe, expect, it } from 'vitest'
import { compileJsonSchema, frozenSchema } from './json-schema.js'

describe('compileJsonSchema', () => {
  it('compiles a schema that cannot change once, however often it is asked', () => {
    const schema = frozenSchema({ type: 'object' })
    expect(frozenSchema(schema)).toBe(schema)
    expect(compileJsonSchema(schema)).toBe(compileJsonSchema(schema))
  })

  it('does not remember a schema that was changed afterwards', () => {
    const schema: { type: string; properties: { a: { type: string } } } = {
      type: 'object',
      properties: { a: { type: 'string' } },
    }
    expect(compileJsonSchema(schema).check({ a: 'x' }).ok).toBe(true)
    schema.properties.a.type = 'number'
    expect(compileJsonSchema(schema).check({ a: 'x' }).ok).toBe(false)
  })

  it('copies a schema with hostile keys as data', () => {
    const copy = frozenSchema(JSON.parse('{"properties": {"__proto__": {"type": "string"}}}'))
    expect(JSON.stringify(copy)).toBe('{"properties":{"__proto__":{"type":"string"}}}')
    expect(Object.getPrototypeOf(copy['properties'])).toBe(Object.prototype)
  })

  it('gives the checked value, or the problems with their paths', () => {
    const { check } = compileJsonSchema({
      type: 'object',
      properties: { 'a/b': { type: 'array', items: { type: 'number' } } },
    })
    const value = { 'a/b': [1] }
    expect(check(value)).toEqual({ ok: true, value })
    expect(check({ 'a/b': [1, 'x'] })).toEqual({
      ok: false,
      problems: [{ path: ['a/b', 1], message: 'expected number' }],
    })
  })

  it('is fast enough to sit in front of every call', () => {
    const { check } = compileJsonSchema({
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'integer' } },
      required: ['a'],
    })
    const start = performance.now()
    for (let i = 0; i < 1000; i++) check({ a: 'x', b: i })
    expect(performance.now() - start).toBeLessThan(500)
  })
})
