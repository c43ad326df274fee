import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyCharacter } from '../../test/support/any-character.js'
import { normalizeToolResultOutput, parseToolArgs, serializeToolOutput } from './serialize.js'

describe('parseToolArgs', () => {
  it.each(['', ' ', '\n\t '])('treats blank text %j as no arguments', (text) => {
    expect(parseToolArgs(text)).toEqual({})
  })

  it('returns any JSON value', () => {
    expect(parseToolArgs('null')).toBeNull()
    expect(parseToolArgs('3')).toBe(3)
    expect(parseToolArgs('{"a": [1]}')).toEqual({ a: [1] })
  })

  it('throws a SyntaxError with the position for everything else', () => {
    expect(() => parseToolArgs('{"a": }')).toThrow(SyntaxError)
    expect(() => parseToolArgs('{"a": }')).toThrow(/position 6/)
  })

  it('never throws anything but a SyntaxError', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (text) => {
        try {
          parseToolArgs(text)
        } catch (error) {
          expect(error).toBeInstanceOf(SyntaxError)
        }
      }),
    )
  })
})

describe('serializeToolOutput', () => {
  it('returns strings unchanged', () => {
    fc.assert(fc.property(fc.string({ unit: anyCharacter }), (text) => serializeToolOutput(text) === text))
  })

  it('writes other values as JSON that parses to the same value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        if (typeof value === 'string') return
        expect(JSON.parse(serializeToolOutput(value))).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })

  it('writes arguments that parseToolArgs parses again', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })), (args) => {
        if (/__proto__|constructor/.test(JSON.stringify(args))) return
        expect(parseToolArgs(serializeToolOutput(args))).toEqual(JSON.parse(JSON.stringify(args)))
      }),
    )
  })

  const circular: Record<string, unknown> = {}
  circular['self'] = circular
  let deep: unknown = []
  for (let i = 0; i < 200_000; i++) deep = [deep]
  const revoked = Proxy.revocable({}, {})
  revoked.revoke()

  it.each([
    ['undefined', undefined, 'undefined'],
    ['a bigint', 10n, '10'],
    ['a symbol', Symbol('x'), 'Symbol(x)'],
    ['something circular', circular, '[object Object]'],
    ['a date', new Date(0), '"1970-01-01T00:00:00.000Z"'],
    ['a map', new Map(), '{}'],
    ['an object that refuses to be JSON', { toJSON: () => Number(undefined?.['x']) }, 'null'],
  ])('returns a text for %s', (_, value, text) => {
    expect(serializeToolOutput(value)).toBe(text)
  })

  it.each([
    ['nested without end', deep],
    ['without a string form', Object.assign(Object.create(null), { self: circular })],
    ['revoked', revoked.proxy],
    [
      'throwing',
      {
        toJSON: () => {
          throw new Error('no')
        },
        toString: () => {
          throw new Error('no')
        },
      },
    ],
  ])('never throws for a value that is %s', (_, value) => {
    expect(typeof serializeToolOutput(value)).toBe('string')
  })
})

describe('normalizeToolResultOutput', () => {
  it('keeps multimodal content and turns everything else into text', () => {
    const content = [
      { type: 'text', text: 'a chart' },
      { type: 'image', data: 'AAAA', mediaType: 'image/png' },
    ]
    expect(normalizeToolResultOutput(content)).toBe(content)
    expect(normalizeToolResultOutput([])).toBe('[]')
    expect(normalizeToolResultOutput({ a: 1 })).toBe('{"a":1}')
    expect(normalizeToolResultOutput('text')).toBe('text')
  })
})
