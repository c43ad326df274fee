import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { propertyRuns } from '../../test/support/property-runs.js'
import { readToolArgs } from './repair-json.js'
import { parseToolArgs } from './serialize.js'

describe('readToolArgs', () => {
  it('parses JSON unchanged and repairs nothing', () => {
    fc.assert(
      fc.property(fc.json(), fc.constantFrom('', ' ', '\n'), (json, space) => {
        const text = `${space}${json}${space}`
        const read = readToolArgs(text)
        expect(read.repairs).toEqual([])
        expect(read.text).toBe(text)
        expect(read.value).toEqual(parseToolArgs(json))
      }),
    )
  })

  it.each([
    ['a code fence', '```json\n{"a": 1}\n```', { a: 1 }],
    ['a code fence without a language', '```\n{"a": 1}```', { a: 1 }],
    ['a comma too many', '{"a": [1, 2,], "b": 3,}', { a: [1, 2], b: 3 }],
    ['single quotes', "{'a': 'x \"y\" z'}", { a: 'x "y" z' }],
    ['an escaped single quote', "{'a': 'it\\'s'}", { a: "it's" }],
    ['a single quote escaped in double quotes', '{"a": "it\\\'s"}', { a: "it's" }],
    ['bare keys', '{path: "x", "b": 1, c-d: null}', { path: 'x', b: 1, 'c-d': null }],
    ["Python's constants", "{'a': True, 'b': False, 'c': None}", { a: true, b: false, c: null }],
    ['raw line breaks', '{"a": "one\ntwo\tthree\r"}', { a: 'one\ntwo\tthree\r' }],
    ['lone backslashes', '{"a": "\\d+\\.js \\u12"}', { a: '\\d+\\.js \\u12' }],
    ['a missing bracket', '{"a": {"b": "c"}', { a: { b: 'c' } }],
    ['several missing brackets', '{"a": [{"b": true', { a: [{ b: true }] }],
    ['a bracket too many', '{"a": 1}}', { a: 1 }],
    ['a byte order mark', '\ufeff{"a": 1}', { a: 1 }],
    ['words that only look like syntax', "{'a': '{\"x\": [1,]} // True'}", { a: '{"x": [1,]} // True' }],
  ])('repairs %s', (_name, text, value) => {
    const read = readToolArgs(text)
    expect(read.value).toEqual(value)
    expect(JSON.parse(read.text)).toEqual(value)
  })

  it('lists its repairs', () => {
    expect(readToolArgs("{'a': True,}").repairs).toEqual([
      'single quotes were read as double quotes',
      'True was read as true',
      'a comma before a closing bracket was left out',
    ])
  })

  it.each([
    ['inside a string', '{"command": "rm -rf /tmp/foo'],
    ['inside a string in single quotes', "{'command': 'rm -rf /tmp/foo"],
    ['inside a number', '{"limit": 12'],
    ['after a key', '{"limit"'],
    ['after a colon', '{"limit":'],
    ['after a comma', '{"a": 1, "b": "c",'],
    ['after an opening bracket', '{"a": ['],
    ['inside a word', '{"a": tru'],
  ])('never completes a text that ends %s', (_name, text) => {
    expect(() => readToolArgs(text)).toThrow(SyntaxError)
  })

  it.each([
    ['prose', 'I will read the file.'],
    ['two values', '{"a": 1} {"b": 2}'],
    ['a value and prose', '{"a": 1} and that is all'],
    ['commas in a row', '[1,,2]'],
    ['a comma at the start', '[,1]'],
    ['brackets that do not match', '{"a": [1}'],
    ['an unescaped quote', '{"a": "x "y" z"}'],
    ['an apostrophe in single quotes', "{'a': 'it's'}"],
    ['a bare word as value', '{"a": yes}'],
    ['a number that JSON does not have', '{"a": 0x10}'],
    ['infinity', '{"a": Infinity}'],
    ['no comma', '{"a": 1 "b": 2}'],
    ['a key without value', '{"a"}'],
    ['a backspace escape next to a lone backslash, which may also be a word boundary', '{"a": "\\bfoo\\d"}'],
    ['a bare name of a prototype', '{"a": constructor}'],
  ])('does not repair %s', (_name, text) => {
    expect(() => readToolArgs(text)).toThrow(SyntaxError)
  })

  it('SEC-237: does not touch prototypes', () => {
    const { value } = readToolArgs("{'__proto__': {'polluted': 1}, __proto__: {x: 1}, a: 1,}")
    expect(value).toEqual({ a: 1 })
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  })

  it('either parses a damaged text or throws SyntaxError, and its result is JSON', () => {
    const damaged = fc
      .tuple(fc.json(), fc.nat(), fc.constantFrom('', "'", '"', ',', '}', ']', '\\', '\n', 'True', ':'))
      .map(([json, at, piece]) => {
        const place = at % (json.length + 1)
        return `${json.slice(0, place)}${piece}${json.slice(place + (at % 2))}`
      })
    fc.assert(
      fc.property(damaged, (text) => {
        try {
          const read = readToolArgs(text)
          if (read.text.trim() !== '') JSON.parse(read.text)
        } catch (error) {
          expect(error).toBeInstanceOf(SyntaxError)
        }
      }),
      { numRuns: propertyRuns(500) },
    )
  })

  it('never returns a shortened string when the end of the text is missing', () => {
    const cut = fc.tuple(fc.dictionary(fc.string(), fc.string()), fc.nat()).map(([value, at]) => {
      const json = JSON.stringify(value)
      return { value, text: json.slice(0, at % (json.length + 1)) }
    })
    fc.assert(
      fc.property(cut, ({ value, text }) => {
        try {
          for (const [key, read] of Object.entries(readToolArgs(text).value as object))
            expect(read).toBe(value[key])
        } catch (error) {
          expect(error).toBeInstanceOf(SyntaxError)
        }
      }),
    )
  })

  it.each([['['], ['{a:'], ["'"], ['"\\'], ['```\n'], [','], ['{"a":1}}'], ['True '], ['}']])(
    'SEC-247: reads a megabyte of %j in bounded time',
    (unit) => {
      const text = `{"a": ${unit.repeat(Math.floor(1_000_000 / unit.length))}`
      expect(() => readToolArgs(text)).toThrow(SyntaxError)
    },
  )
})
