import { describe, expect, it } from 'vitest'
import { compileJsonSchema } from '../tool/json-schema.js'
import { readSchema } from './schema.js'

const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more })

describe('the schema of a server', () => {
  it.each([
    ['a list', [], 'not a schema'],
    ['another type', { type: 'array' }, 'not an object'],
    ['a reference to a file', object({ a: { $ref: 'file:///etc/passwd' } }), 'outside'],
    ['a reference to a host', object({ a: { allOf: [{ $ref: 'http://x.test/s' }] } }), 'outside'],
    ['invisible names', object({ 'a\u200b': {} }), 'invisible'],
    [
      'too many parts',
      object(Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`p${at}`, {}]))),
      'more than 4000 parts',
    ],
    [
      'too much text',
      object({ a: { enum: Array.from({ length: 30 }, () => 'x'.repeat(3_000)) } }),
      'longer than',
    ],
  ])('with %s is rejected', (_, schema, problem) => {
    expect(readSchema(schema)).toMatchObject({ ok: false, problem: expect.stringContaining(problem) })
  })

  it('with more levels than the stack allows is rejected', () => {
    let schema: object = {}
    for (let level = 0; level < 100_000; level++) schema = { properties: { a: schema } }
    expect(readSchema({ type: 'object', ...schema })).toMatchObject({
      ok: false,
      problem: expect.stringContaining('deeper'),
    })
  })

  it('is shown without invisible characters, and is validated without its patterns', () => {
    const read = readSchema(
      object(
        {
          a: { type: 'string', pattern: '^(a+)+$', description: `x\u001b[31m${'y'.repeat(1_000)}` },
          pattern: { type: 'string' },
        },
        { patternProperties: { '^(b+)+$': {} }, additionalProperties: false },
      ),
    )
    if (!read.ok) throw new Error(read.problem)
    expect(JSON.stringify(read.shown)).toContain('^(a+)+$')
    expect(JSON.stringify(read.shown)).not.toContain('\\u001b')
    expect(JSON.stringify(read.shown).length).toBeLessThan(900)
    const checked = compileJsonSchema(read.checked)
    expect(checked.check({ a: `${'a'.repeat(60)}!`, pattern: 'x', other: 1 })).toMatchObject({ ok: true })
    expect(checked.check({ a: 7 })).toMatchObject({ ok: false })
    expect(checked.check({ pattern: 7 })).toMatchObject({ ok: false })
  })
})
