import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { propertyRuns } from '../../test/support/property-runs.js'
import {
  copyJson,
  JsonTextError,
  locateJsonError,
  maxJsonDepth,
  parseJsonText,
  withoutPrototypeKeys,
} from './json-text.js'

const failure = (text: string): JsonTextError => {
  try {
    parseJsonText(text)
  } catch (error) {
    if (error instanceof JsonTextError) return error
    throw error
  }
  throw new Error(`${text} parsed`)
}

describe('parseJsonText', () => {
  it.each([
    ['{"a": }', 6, 'expected a value, found "}"'],
    ['{"a": 1,}', 8, 'expected a key in double quotes, found "}"'],
    ['{a: 1}', 1, 'expected a key in double quotes or "}", found "a"'],
    ['{"a" 1}', 5, 'expected ":", found "1"'],
    ['[1 2]', 3, 'expected "," or "]", found "2"'],
    ['{"a": 1 "b": 2}', 8, 'expected "," or "}", found "\\""'],
    ['{"a": "x', 8, 'expected a closing quote, the text ends here'],
    ['{"a": "\\q"}', 7, 'expected a valid escape, found "\\\\"'],
    ['{"a": "x\ny"}', 8, 'expected a string without raw control characters'],
    ['{} {}', 3, 'expected the end of the text, found "{"'],
    ['nul', 0, 'expected a value, found "n"'],
    ['01', 1, 'expected the end of the text, found "1"'],
    ['[', 1, 'expected a value, the text ends here'],
    ["{'a': 1}", 1, 'found "\'"'],
  ])('reports where %j is invalid', (text, position, problem) => {
    const error = failure(text)
    expect(error).toBeInstanceOf(SyntaxError)
    expect(error.position).toBe(position)
    expect(error.message).toContain(problem)
  })

  it('counts lines and columns from one', () => {
    const error = failure('{\n  "a": 1,\n  "b": oops\n}')
    expect([error.line, error.column]).toEqual([3, 8])
    expect(error.message).toMatch(/^Invalid JSON at line 3, column 8 \(position 19\): /)
  })

  it('shows only the text around the error', () => {
    const error = failure(`{"a": "${'x'.repeat(100_000)}" oops}`)
    expect(error.message.length).toBeLessThan(250)
  })

  it('finds the error at the end of a text of several megabytes', () => {
    const text = `{"content": "${'a\\n'.repeat(2_000_000)}`
    expect(failure(text).position).toBe(text.length)
  })

  it('returns the same as JSON.parse for every JSON text without hostile keys', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        if (text.includes('__proto__') || text.includes('constructor')) return
        expect(parseJsonText(text)).toEqual(JSON.parse(text))
      }),
    )
  })

  it('throws only JsonTextError, and only where JSON.parse fails too', () => {
    const jsonish = fc.string({
      unit: fc.constantFrom(
        '{',
        '}',
        '[',
        ']',
        '"',
        ':',
        ',',
        '\\',
        'u',
        '1',
        '.',
        'e',
        '-',
        ' ',
        '\n',
        'true',
        'null',
        'a',
        '\u0000',
        '💡',
      ),
    })
    fc.assert(
      fc.property(fc.oneof(jsonish, fc.string()), (text) => {
        let engine = true
        try {
          JSON.parse(text)
        } catch {
          engine = false
        }
        let ours: unknown
        try {
          parseJsonText(text)
        } catch (error) {
          ours = error
        }
        expect(ours === undefined).toBe(engine)
        if (ours !== undefined) {
          expect(ours).toBeInstanceOf(JsonTextError)
          expect((ours as JsonTextError).message).not.toContain('not accepted')
        }
      }),
      { numRuns: propertyRuns(2_000) },
    )
  })

  it('rejects nesting that is too deep for recursive readers, and accepts one level less', () => {
    expect(failure('['.repeat(100_000) + ']'.repeat(100_000)).message).toContain(
      `nested deeper than ${maxJsonDepth} levels`,
    )
    expect(parseJsonText('['.repeat(maxJsonDepth) + ']'.repeat(maxJsonDepth))).toBeInstanceOf(Array)
    expect(() => parseJsonText('['.repeat(maxJsonDepth + 1) + ']'.repeat(maxJsonDepth + 1))).toThrow(
      JsonTextError,
    )
  })

  it('does not mistake many brackets for deep nesting', () => {
    const text = `[${Array.from({ length: 1000 }, () => '[]').join(',')}]`
    expect(parseJsonText(text)).toHaveLength(1000)
    expect(parseJsonText(JSON.stringify('['.repeat(1000)))).toBe('['.repeat(1000))
  })

  it.each([
    '{"__proto__": {"polluted": true}}',
    '{"a": [{"__proto__": {"polluted": true}}]}',
    '{"\\u005f_proto__": {"polluted": true}}',
    '{"constructor": {"prototype": {"polluted": true}}}',
    '{"a": {"constructor": {"prototype": {"polluted": true}}}}',
  ])('keeps %s away from every prototype, even through an unsafe merge', (text) => {
    const value = parseJsonText(text)
    carelessMerge({}, value)
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
    expect(JSON.stringify(value)).not.toContain('polluted')
  })

  it('keeps a field named constructor without a prototype', () => {
    expect(parseJsonText('{"constructor": "Ship"}')).toEqual({ constructor: 'Ship' })
  })
})

describe('locateJsonError', () => {
  it('agrees with the engine about which texts are invalid, so that it always has a position', () => {
    for (const text of ['', ' ', '{"a":1', '[1,', '"\\u12', '-', '1e', '{"a"}']) {
      expect(() => JSON.parse(text)).toThrow()
      expect(locateJsonError(text).message).toMatch(/expected/)
    }
  })
})

describe('withoutPrototypeKeys', () => {
  it('returns the same object when there is nothing to leave out', () => {
    const value = { a: [1, { b: null }], when: new Date(0) }
    expect(withoutPrototypeKeys(value)).toBe(value)
  })

  it('does not change its input', () => {
    const value = JSON.parse('{"a": {"__proto__": 1, "b": 2}}')
    expect(withoutPrototypeKeys(value)).toEqual({ a: { b: 2 } })
    expect(Reflect.ownKeys(value.a)).toEqual(['__proto__', 'b'])
  })
})

describe('copyJson', () => {
  it('returns a copy and the number of values in it', () => {
    const value = { a: [1, { b: null }] }
    const copied = copyJson(value)
    expect(copied).toEqual({ value, values: 4 })
    expect(copied.value).not.toBe(value)
  })

  it('leaves out members that are undefined, as JSON would', () => {
    expect(Object.keys(copyJson({ a: 1, b: undefined }).value as object)).toEqual(['a'])
  })

  it('rejects values that are too deep or too many', () => {
    let deep: unknown = 1
    for (let i = 0; i <= maxJsonDepth; i++) deep = [deep]
    expect(() => copyJson(deep)).toThrow(RangeError)
    expect(() => copyJson(Array.from({ length: 100_001 }))).toThrow(RangeError)
  })
})

/** The kind of merge through which prototype pollution happens. */
function carelessMerge(target: Record<string, unknown>, source: unknown): void {
  if (typeof source !== 'object' || source === null) return
  for (const key of Reflect.ownKeys(source) as string[]) {
    const member = (source as Record<string, unknown>)[key]
    if (typeof member === 'object' && member !== null) {
      const existing = target[key]
      const next =
        (typeof existing === 'object' || typeof existing === 'function') && existing !== null ? existing : {}
      if (next !== existing) target[key] = next
      carelessMerge(next as Record<string, unknown>, member)
    } else target[key] = member
  }
}
