import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type Envelope,
  errorEnvelope,
  isEnvelope,
  isErrorEnvelope,
  isMadeEnvelope,
  isOutputEnvelope,
  outputEnvelope,
} from './envelope.js'

describe('envelopes', () => {
  it('hold data when it worked and a text when it did not, and always a duration', () => {
    expect(outputEnvelope({ a: 1 })).toEqual({ type: 'output', data: { a: 1 }, metadata: { duration_ms: 0 } })
    expect(errorEnvelope('no', { duration_ms: 3 })).toEqual({
      type: 'error',
      error_text: 'no',
      metadata: { duration_ms: 3 },
    })
    expect(outputEnvelope('head', { truncated: true, output_path: 'out.txt' }).metadata).toEqual({
      duration_ms: 0,
      truncated: true,
      output_path: 'out.txt',
    })
  })

  it('narrow by their type', () => {
    const read = (envelope: Envelope<number>): number | string =>
      isOutputEnvelope(envelope) ? envelope.data + 1 : envelope.error_text
    expect(read(outputEnvelope(1))).toBe(2)
    expect(read(errorEnvelope('no'))).toBe('no')
    expect(isErrorEnvelope(errorEnvelope('no'))).toBe(true)
  })

  it('are recognised after a trip through JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(), (data, duration) => {
        expect(isEnvelope(JSON.parse(JSON.stringify(outputEnvelope(data, { duration_ms: duration }))))).toBe(
          true,
        )
      }),
    )
    expect(isEnvelope(JSON.parse(JSON.stringify(errorEnvelope('no'))))).toBe(true)
  })

  it.each([
    null,
    'output',
    {},
    { type: 'output', data: 1 },
    { type: 'output', metadata: { duration_ms: 1 } },
    { type: 'output', data: 1, error_text: 'x', metadata: { duration_ms: 1 } },
    { type: 'error', data: 1, metadata: { duration_ms: 1 } },
    { type: 'error', error_text: 3, metadata: { duration_ms: 1 } },
    { type: 'output', data: 1, metadata: { duration_ms: '1' } },
    { type: 'other', data: 1, metadata: { duration_ms: 1 } },
  ])('are not taken for %j', (value) => {
    expect(isEnvelope(value)).toBe(false)
  })

  it('made on purpose are told from data that only looks like one', () => {
    expect(isMadeEnvelope(outputEnvelope(1))).toBe(true)
    expect(isMadeEnvelope(JSON.parse(JSON.stringify(outputEnvelope(1))))).toBe(false)
    expect(isMadeEnvelope({ ...outputEnvelope(1) })).toBe(false)
  })

  it('show nothing but their documented fields', () => {
    expect(Object.keys(outputEnvelope(1))).toEqual(['type', 'data', 'metadata'])
    expect(JSON.stringify(errorEnvelope('no'))).toBe(
      '{"type":"error","error_text":"no","metadata":{"duration_ms":0}}',
    )
  })
})
