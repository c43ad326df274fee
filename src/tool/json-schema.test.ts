import { describe, expect, it } from 'vitest'
import { frozenCopy } from './frozen-copy.js'
import type { JsonSchema } from './json.js'
import { compileJsonSchema } from './json-schema.js'

describe('compileJsonSchema', () => {
  it('compiles a frozen schema only once', () => {
    const schema = frozenCopy({ type: 'object' })
    expect(frozenCopy(schema)).toBe(schema)
    expect(compileJsonSchema(schema)).toBe(compileJsonSchema(schema))
  })

  it('compiles a schema that uses one object in two places', () => {
    const name = { type: 'string', maxLength: 3 }
    const { check } = compileJsonSchema({ type: 'object', properties: { a: name, b: name } })
    expect(check({ a: 'x', b: 'y' }).ok).toBe(true)
    expect(check({ a: 'x', b: 'too long' }).ok).toBe(false)
  })

  it('does not cache a schema that can change', () => {
    const schema: { type: string; properties: { a: { type: string } } } = {
      type: 'object',
      properties: { a: { type: 'string' } },
    }
    expect(compileJsonSchema(schema).check({ a: 'x' }).ok).toBe(true)
    schema.properties.a.type = 'number'
    expect(compileJsonSchema(schema).check({ a: 'x' }).ok).toBe(false)
  })

  it('copies a schema with hostile keys as data', () => {
    const copy = frozenCopy(JSON.parse('{"properties": {"__proto__": {"type": "string"}}}'))
    expect(JSON.stringify(copy)).toBe('{"properties":{"__proto__":{"type":"string"}}}')
    expect(Object.getPrototypeOf(copy['properties'])).toBe(Object.prototype)
  })

  it('returns the checked value, or the problems with their paths', () => {
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

  it('returns a copy, so that the checked value cannot change afterwards', () => {
    const given = { a: { b: 1 } }
    const checked = compileJsonSchema({ type: 'object' }).check(given)
    given.a.b = 2
    expect(checked).toEqual({ ok: true, value: { a: { b: 1 } } })
  })

  const expression = (...before: object[]): JsonSchema => ({
    $ref: '#/$defs/e',
    $defs: {
      e: {
        anyOf: [
          ...before,
          { type: 'string' },
          ...['and', 'or', 'not'].map((op) => ({
            type: 'object',
            properties: { args: { type: 'array', items: { $ref: '#/$defs/e' } }, op: { const: op } },
            required: ['op', 'args'],
          })),
        ],
      },
    },
  })
  const nested = (levels: number): unknown => (levels === 0 ? 'x' : { args: [nested(levels - 1)], op: 'not' })

  it('limits the work on recursive alternatives', () => {
    const { check } = compileJsonSchema(expression())
    expect(check(nested(2)).ok).toBe(true)
    expect(check(nested(50))).toEqual({
      ok: false,
      problems: [{ path: [], message: expect.stringMatching(/^could not be checked: .* takes too long/) }],
    })
  })

  it('checks plain recursion to any depth', () => {
    const { check } = compileJsonSchema({ type: 'object', properties: { child: { $ref: '#' } } })
    let value: unknown = {}
    for (let i = 0; i < 150; i++) value = { child: value }
    expect(check(value).ok).toBe(true)
  })
})
