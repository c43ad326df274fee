import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createJsonTool } from './create-json-tool.js'
import type { JsonSchema } from './json.js'

const read = createJsonTool<{ file_path: string; limit?: number }>({
  name: 'read',
  description: 'Read a file.',
  kind: 'read',
  parameters: {
    type: 'object',
    properties: {
      file_path: { type: 'string', minLength: 1 },
      limit: { type: 'integer', minimum: 1, maximum: 2000 },
      mode: { enum: ['text', 'bytes'] },
    },
    required: ['file_path'],
    additionalProperties: false,
  },
  execute: ({ file_path }) => `contents of ${file_path}`,
})

const refusal = async (parameters: JsonSchema, args: unknown): Promise<string> => {
  const envelope = await createJsonTool({
    name: 't',
    description: 'd',
    parameters,
    execute: () => 'ran',
  }).execute(args)
  if (envelope.type !== 'error') throw new Error('it was not refused')
  return envelope.error_text.split('\n').slice(1, -1).join('\n')
}
const readRefusal = async (args: unknown): Promise<string> => {
  const envelope = await read.execute(args)
  return envelope.type === 'error' ? envelope.error_text.split('\n').slice(1, -1).join('\n') : 'not refused'
}

describe('createJsonTool', () => {
  it('creates the same kind of object as createTool', async () => {
    expect(read).toMatchObject({
      id: 'read',
      name: 'read',
      description: 'Read a file.',
      kind: 'read',
      requires: {},
      idempotent: false,
    })
    expect(await read.call({ file_path: 'a' })).toBe('contents of a')
    expect(await read.execute({ file_path: 'a' })).toMatchObject({ type: 'output', data: 'contents of a' })
  })

  it.each([
    [{ file_path: 3 }, '- file_path: expected string; got 3 (number)'],
    [{}, '- file_path: required field is missing; got nothing'],
    [{ file_path: '' }, '- file_path: expected at least 1 characters; got "" (string)'],
    [{ file_path: 'a', limit: 'ten' }, '- limit: expected integer; got "ten" (string)'],
    [{ file_path: 'a', limit: 0 }, '- limit: expected at least 1; got 0 (number)'],
    [{ file_path: 'a', limit: 9999 }, '- limit: expected at most 2000; got 9999 (number)'],
    [{ file_path: 'a', mode: 'hex' }, '- mode: expected one of "text", "bytes"; got "hex" (string)'],
    [
      { file_path: 'a', file_pth: 'b' },
      '- file_pth: unknown field (did you mean "file_path"?); got "b" (string)',
    ],
    [{ file_path: 'a', zzz: 1 }, '- zzz: unknown field (known: file_path, limit, mode); got 1 (number)'],
    ['a', '- the arguments: expected object; got "a" (string)'],
    [null, '- the arguments: expected object; got null'],
    [[1, 2], '- the arguments: expected object; got an array of 2'],
    [
      { file_path: ['a'], limit: 'x' },
      '- file_path: expected string; got an array of 1\n- limit: expected integer; got "x" (string)',
    ],
  ])('rejects %j with the field, what was expected and what was received', async (args, text) => {
    expect(await readRefusal(args)).toBe(text)
  })

  it('follows references to report what was expected', async () => {
    const schema = {
      type: 'object',
      properties: { at: { $ref: '#/$defs/point' } },
      $defs: { point: { type: 'object', properties: { x: { type: 'number' } }, required: ['x'] } },
    }
    expect(await refusal(schema, { at: { x: '1' } })).toBe('- at.x: expected number; got "1" (string)')
    expect(await refusal(schema, { at: {} })).toBe('- at.x: required field is missing; got nothing')
  })

  it('explains unions by the shape that was most likely intended', async () => {
    const schema = {
      type: 'object',
      properties: {
        id: { anyOf: [{ type: 'string' }, { type: 'null' }] },
        target: {
          oneOf: [
            { type: 'object', properties: { file: { type: 'string' } }, required: ['file'] },
            {
              type: 'object',
              properties: { line: { type: 'object', properties: { n: { type: 'integer' } } } },
              required: ['line'],
            },
          ],
        },
      },
    }
    expect(await refusal(schema, { id: 3 })).toBe('- id: expected string; or expected null; got 3 (number)')
    expect(await refusal(schema, { target: { line: { n: 'x' } } })).toBe(
      '- target.line.n: expected integer; got "x" (string)',
    )
    expect(await refusal({ oneOf: [{ type: 'object' }, { minProperties: 0 }] }, {})).toContain(
      'fits more than one',
    )
  })

  it('names every alternative when all are equally likely', async () => {
    const either = { type: 'object', anyOf: [{ required: ['a'] }, { required: ['b'] }] }
    expect(await refusal(either, {})).toBe(
      '- a: required field is missing (one of 2 alternatives); got nothing\n- b: required field is missing (one of 2 alternatives); got nothing',
    )
  })

  it('chooses the shape by its fixed value, however many other problems it has', async () => {
    const shape = (kind: string, ...fields: string[]): object => ({
      type: 'object',
      properties: {
        kind: { const: kind },
        ...Object.fromEntries(fields.map((field) => [field, { type: 'number' }])),
      },
      required: ['kind', ...fields],
    })
    const schema = { type: 'object', properties: { it: { oneOf: [shape('a'), shape('b', 'x', 'y')] } } }
    expect(await refusal(schema, { it: { kind: 'b', x: '1', y: '2' } })).toBe(
      '- it.x: expected number; got "1" (string)\n- it.y: expected number; got "2" (string)',
    )
  })

  it('limits the length of the message, whatever the names of the fields', async () => {
    expect((await readRefusal({ file_path: 'a', ['a'.repeat(100_000)]: 1 })).length).toBeLessThan(500)
  })

  it.each([
    ['const', { const: 'a' }, 'b', 'expected "a"; got "b" (string)'],
    [
      'pattern',
      { type: 'string', pattern: '^a+$' },
      'b',
      'expected text that matches ^a+$; got "b" (string)',
    ],
    ['format', { type: 'string', format: 'email' }, 'b', 'expected the format email; got "b" (string)'],
    ['exclusive bounds', { exclusiveMinimum: 1 }, 1, 'expected more than 1; got 1 (number)'],
    ['upper exclusive bounds', { exclusiveMaximum: 1 }, 1, 'expected less than 1; got 1 (number)'],
    ['multiples', { multipleOf: 5 }, 7, 'expected a multiple of 5; got 7 (number)'],
    ['lengths', { maxLength: 1 }, 'abc', 'expected at most 1 characters; got "abc" (string)'],
    ['counts', { type: 'array', minItems: 2 }, [], 'expected at least 2 items; got an array of 0'],
    ['upper counts', { type: 'array', maxItems: 0 }, [1], 'expected at most 0 items; got an array of 1'],
    [
      'too many fields',
      { type: 'object', maxProperties: 0 },
      { a: 1 },
      'expected at most 0 fields; got an object with "a"',
    ],
    [
      'items that repeat',
      { type: 'array', uniqueItems: true },
      [1, 1],
      'expected items that all differ; got an array of 2',
    ],
    ['several types', { type: ['string', 'number'] }, true, 'expected string or number; got true (boolean)'],
    ['never', false, 1, 'not allowed here; got 1 (number)'],
    [
      'not',
      { not: { type: 'string' } },
      'x',
      'expected anything but what is excluded here; got "x" (string)',
    ],
  ])('has a message for %s', async (_, field, value, text) => {
    expect(await refusal({ type: 'object', properties: { f: field } }, { f: value })).toBe(`- f: ${text}`)
  })

  it('uses draft 2020-12 by default and draft-07 when the schema says so', async () => {
    const tuple = {
      type: 'object',
      properties: { pair: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }] } },
    }
    expect(await refusal(tuple, { pair: ['a', 'b'] })).toBe('- pair[1]: expected number; got "b" (string)')
    const seven = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      properties: { pair: { type: 'array', items: [{ type: 'string' }, { type: 'number' }] } },
    }
    expect(await refusal(seven, { pair: ['a', 'b'] })).toBe('- pair[1]: expected number; got "b" (string)')
    // In draft-07 keywords next to a reference are ignored; in 2020-12 they apply.
    const nextToReference = {
      type: 'object',
      properties: { a: { $ref: '#/definitions/any', type: 'number' } },
      definitions: { any: {} },
    }
    const tool = createJsonTool({
      name: 't',
      description: 'd',
      parameters: { $schema: 'http://json-schema.org/draft-07/schema#', ...nextToReference },
      execute: () => 'ran',
    })
    expect(await tool.execute({ a: 'x' })).toMatchObject({ type: 'output' })
    expect(await refusal(nextToReference, { a: 'x' })).toContain('expected number')
  })

  it.each([
    [{ type: 'strng' }, /#\/type: unknown type "strng"/],
    [{ type: 'object', properties: { a: { type: 'int' } } }, /#\/properties\/a\/type: unknown type "int"/],
    [{ type: 'object', properties: [] }, /#\/properties: expected an object/],
    [{ type: 'object', required: 'a' }, /#\/required: expected an array of names/],
    [{ type: 'object', properties: { a: { pattern: '(' } } }, /#\/properties\/a\/pattern: /],
    [{ type: 'object', properties: { a: { $ref: '#/$defs/gone' } } }, /"#\/\$defs\/gone" points to nothing/],
    [
      { type: 'object', properties: { a: { $ref: 'https://example.com/x.json' } } },
      /points to nothing inside the schema/,
    ],
    [{ anyOf: {} }, /#\/anyOf: expected an array/],
    [{ properties: { a: 3 } }, /#\/properties\/a: expected an object or a boolean/],
    [{ enum: 'a' }, /#\/enum: expected an array/],
    [{ required: true }, /#\/required: expected an array of names/],
    [{ properties: { a: { minimum: '3' } } }, /#\/properties\/a\/minimum: expected a number/],
    [
      { properties: { a: { $dynamicRef: '#x' } } },
      /#\/properties\/a\/\$dynamicRef: dynamic references are not supported/,
    ],
    [{ properties: { a: { $ref: '#/$defs/b' } }, $defs: { b: { $ref: '#/$defs/b' } } }, /refers to itself/],
    [{ $id: 'http://[' }, /Not a JSON Schema: Invalid URL/],
    [{ type: 'array' }, /must be an object, its schema says "array"/],
  ])('rejects the invalid schema %j when the tool is created', (parameters, message) => {
    expect(() => createJsonTool({ name: 't', description: 'd', parameters, execute: () => 1 })).toThrow(
      message,
    )
  })

  it('accepts schemas that refer to themselves', async () => {
    const tree = {
      type: 'object',
      properties: { children: { type: 'array', items: { $ref: '#' } }, name: { type: 'string' } },
    }
    expect(await refusal(tree, { children: [{ children: [{ name: 3 }] }] })).toBe(
      '- children[0].children[0].name: expected string; got 3 (number)',
    )
  })

  it('neither changes nor stores the schema object it was given', async () => {
    const parameters = Object.freeze({
      type: 'object',
      properties: Object.freeze({ a: Object.freeze({ type: 'string' }) }),
    })
    const tool = createJsonTool({ name: 't', description: 'd', parameters, execute: () => 1 })
    expect(await tool.execute({ a: 'x' })).toMatchObject({ type: 'output' })
    expect(parameters).toEqual({ type: 'object', properties: { a: { type: 'string' } } })
  })

  it('treats an undefined field as absent', async () => {
    expect(await read.execute({ file_path: 'a', limit: undefined })).toMatchObject({ type: 'output' })
  })

  it('removes hostile keys before the tool gets them, also when a host passes an object', async () => {
    const hostile =
      '{"a": {"__proto__": {"polluted": true}}, "constructor": {"prototype": {"polluted": true}}}'
    const tool = createJsonTool({
      name: 't',
      description: 'd',
      parameters: { type: 'object' },
      execute: (args) => [Reflect.ownKeys(args), Reflect.ownKeys(args['a'] as object)],
    })
    expect(await tool.execute(JSON.parse(hostile))).toMatchObject({ type: 'output', data: [['a'], []] })
  })

  it('reads fields with the names of built-in object members', async () => {
    const schema = {
      type: 'object',
      properties: { toString: { type: 'string' }, constructor: { type: 'string' } },
      required: ['constructor'],
    }
    expect(await refusal(schema, {})).toBe('- constructor: required field is missing; got nothing')
    const tool = createJsonTool({ name: 't', description: 'd', parameters: schema, execute: (args) => args })
    expect(await tool.execute({ constructor: 'x' })).toMatchObject({
      type: 'output',
      data: { constructor: 'x' },
    })
  })

  it('never throws, whatever the arguments are', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.anything({
          withBigInt: true,
          withDate: true,
          withMap: true,
          withNullPrototype: true,
          withSparseArray: true,
        }),
        async (args) => {
          expect(['output', 'error']).toContain((await read.execute(args)).type)
        },
      ),
    )
  })

  it('never throws for hostile values: endless nesting, very many keys, lone surrogates, NaN', async () => {
    let deep: unknown = {}
    for (let i = 0; i < 100_000; i++) deep = { deep }
    const wide = Object.fromEntries(Array.from({ length: 200_000 }, (_, i) => [`k${i}`, i]))
    const tree = createJsonTool({
      name: 't',
      description: 'd',
      parameters: { type: 'object', additionalProperties: { $ref: '#' } },
      execute: () => 1,
    })
    for (const args of [
      deep,
      wide,
      { '\ud800': 1 },
      { file_path: Number.NaN },
      { file_path: -0 },
      { file_path: () => 1 },
      { file_path: Symbol('x') },
    ]) {
      expect((await read.execute(args)).type).toBe('error')
      expect(['output', 'error']).toContain((await tree.execute(args)).type)
    }
  })
})
