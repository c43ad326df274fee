import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type Envelope,
  errorEnvelope,
  isEnvelope,
  isErrorEnvelope,
  isOutputEnvelope,
  outputEnvelope,
  returnedEnvelope,
} from './envelope.js'

describe('envelopes', () => {
  it('have data on success, a text on failure, and always a duration', () => {
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
  ])('do not include %j', (value) => {
    expect(isEnvelope(value)).toBe(false)
  })

  it('returned by a tool keep all metadata if this package made them, and lose the runtime’s metadata if not', () => {
    const made = outputEnvelope(1, { truncated: true, output_path: 'x', exit_code: 2 })
    expect(returnedEnvelope(made)).toBe(made)
    expect(returnedEnvelope(JSON.parse(JSON.stringify(made)))).toEqual({
      type: 'output',
      data: 1,
      metadata: { duration_ms: 0, exit_code: 2 },
    })
    for (const data of [undefined, 'text', { type: 'output' }, []])
      expect(returnedEnvelope(data)).toBeUndefined()
  })

  it('of errors always have a text', () => {
    expect(errorEnvelope(undefined as never).error_text).toBe('an error that carries no message')
  })

  it('serialize only their documented fields', () => {
    expect(Object.keys(outputEnvelope(1))).toEqual(['type', 'data', 'metadata'])
    expect(JSON.stringify(errorEnvelope('no'))).toBe(
      '{"type":"error","error_text":"no","metadata":{"duration_ms":0}}',
    )
  })
})
