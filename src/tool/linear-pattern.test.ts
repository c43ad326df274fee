import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { propertyRuns } from '../../test/support/property-runs.js'
import type { JsonSchema } from './json.js'
import { compileJsonSchema } from './json-schema.js'
import { linearPattern } from './linear-pattern.js'

describe('a pattern', () => {
  const atom = fc.constantFrom(
    'a',
    'b',
    '.',
    '[ab]',
    '[^a]',
    '\\d',
    '\\w',
    'é',
    '\\u{1F600}',
    '\\p{L}',
    '\\.',
    '\\b',
    '^',
    '$',
  )
  const count = fc.constantFrom('', '', '*', '+', '?', '{2}', '{1,3}', '{2,}', '*?', '+?')
  const { pattern } = fc.letrec<{ pattern: string }>((tie) => ({
    pattern: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc
        .array(fc.tuple(atom, count), { maxLength: 4 })
        .map((parts) => parts.map((part) => part.join('')).join('')),
      fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => `${a}|${b}`),
      fc
        .tuple(tie('pattern'), count, fc.constantFrom('(', '(?:', '(?<n>'))
        .map(([inner, many, open]) => `${open}${inner})${many}`),
    ),
  }))
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '1', ' ', '.', 'é', '😀', '_'), maxLength: 8 })

  it('matches the same texts as the JavaScript engine', () => {
    fc.assert(
      fc.property(pattern, fc.array(text, { minLength: 1, maxLength: 5 }), (source, texts) => {
        let native: RegExp
        try {
          native = new RegExp(source, 'u')
        } catch {
          return
        }
        const linear = linearPattern(source)
        for (const one of texts)
          expect(linear.test(one), `/${source}/u on ${JSON.stringify(one)}`).toBe(native.test(one))
      }),
      { numRuns: propertyRuns(3000) },
    )
  })

  it.each(['(?=(a+)+)b', '(a+)+\\1', '(?:a|a)*(?<!b)'])(
    'with look-around and repeated groups is rejected: %s',
    (source) => {
      expect(() => linearPattern(source)).toThrow(TypeError)
    },
  )
})

const hostileText = `${'a'.repeat(40)}!`
const hostile: readonly [string, JsonSchema, unknown][] = [
  ...[
    '^(a+)+$',
    '^(a|a)*$',
    '^(a|aa)+$',
    '(a*)*b',
    '^(([a-z])+.)+[A-Z]([a-z])+$',
    '(.*a){20}',
    'a*a*a*a*a*a*b',
    '(x+x+)+y',
  ].map((pattern): [string, JsonSchema, unknown] => [
    `the pattern ${pattern}`,
    { type: 'string', pattern },
    hostileText.repeat(20),
  ]),
  ['a pattern on a long text', { type: 'string', pattern: '^(a+)+$' }, 'a'.repeat(1_000_000)],
  ['a pattern under a key', { patternProperties: { '^a*b': {} } }, { ['a'.repeat(900)]: 1 }],
  ['the format url', { type: 'string', format: 'url' }, `http://${'a'.repeat(60)}!`],
  ['alternatives of alternatives', doubling('anyOf'), deep(60)],
  ['conjunctions of conjunctions', doubling('allOf'), deep(60)],
  [
    'a schema that tries itself twice at every level',
    { allOf: [{ properties: { a: { $ref: '#' } } }, { properties: { a: { $ref: '#' } } }], type: 'object' },
    deep(60),
  ],
  ['items that must differ', { type: 'array', uniqueItems: true }, [...Array(20_000)].map((_, n) => ({ n }))],
  [
    'a long list of allowed values for many items',
    { type: 'array', items: { enum: [...Array(20_000)].map((_, n) => `value ${n}`) } },
    [...Array(5_000)].map(() => 'none'),
  ],
  ['a schema that leads to itself', { allOf: [{ $ref: '#' }] }, {}],
]

function doubling(keyword: string): JsonSchema {
  const levels = [...Array(40)].map((_, n): [string, JsonSchema] => {
    const next = { $ref: `#/$defs/l${n + 1}` }
    return [`l${n}`, { [keyword]: [next, next] }]
  })
  return { $ref: '#/$defs/l0', $defs: { ...Object.fromEntries(levels), l40: { type: 'string' } } }
}

function deep(levels: number): unknown {
  let value: unknown = 1
  for (let n = 0; n < levels; n++) value = { a: value }
  return value
}

describe('an untrusted schema', () => {
  it.each(hostile)('is checked with bounded work: %s', (_, schema, value) => {
    // An endless check would never return, and the test would reach its time limit.
    let outcome: unknown
    try {
      outcome = compileJsonSchema(schema).check(value)
    } catch (error) {
      outcome = error
    }
    expect(outcome).toBeDefined()
  })

  it('still has its patterns enforced, with the same messages', () => {
    const { check } = compileJsonSchema({
      type: 'object',
      properties: { name: { type: 'string', pattern: '^(a+)+$', minLength: 2 } },
    })
    expect(check({ name: 'aaa' })).toMatchObject({ ok: true })
    expect(check({ name: 'aab' })).toMatchObject({
      ok: false,
      problems: [{ path: ['name'], message: 'expected text that matches ^(a+)+$' }],
    })
    expect(compileJsonSchema({ not: { pattern: '^(a+)+$' } }).check('aaa')).toMatchObject({ ok: false })
    expect(compileJsonSchema({ not: { pattern: '^(a+)+$' } }).check('b')).toMatchObject({ ok: true })
    // A value that only looks like a schema is not changed.
    expect(compileJsonSchema({ const: { pattern: '(a+)+' } }).check({ pattern: '(a+)+' })).toMatchObject({
      ok: true,
    })
  })
})
