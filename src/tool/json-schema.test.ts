import { describe, expect, it } from 'vitest'
import { compileJsonSchema } from './json-schema.js'

describe('compileJsonSchema', () => {
  it('compiles a schema once, however often it is asked', () => {
    const schema = { type: 'object' }
    expect(compileJsonSchema(schema)).toBe(compileJsonSchema(schema))
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
