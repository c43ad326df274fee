import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { errorEnvelope, outputEnvelope } from './envelope.js'
import { fromToolResult, toToolResult } from './tool-result.js'

describe('toToolResult', () => {
  it('returns the text, the exit code, the metadata in both forms, and the envelope', () => {
    const envelope = outputEnvelope({ files: 2 }, { duration_ms: 5, truncated: true })
    expect(toToolResult('ls', envelope)).toEqual({
      name: 'ls',
      output: '{"files":2}',
      exitCode: 0,
      metadataJson: '{"duration_ms":5,"truncated":true}',
      metadata: { duration_ms: 5, truncated: true },
      envelope,
    })
  })

  it.each([
    ['a text', outputEnvelope('plain'), 'plain', 0],
    ['images', outputEnvelope([{ type: 'image', data: 'AAAA' }]), '[image:image/png]', 0],
    ['a failure', errorEnvelope('no such file'), 'no such file', 1],
    ['a command that failed', outputEnvelope('oops', { exit_code: 2 }), 'oops', 2],
    ['a failure with a command’s code', errorEnvelope('killed', { exit_code: 137 }), 'killed', 137],
    ['a failure that claims success', errorEnvelope('no', { exit_code: 0 }), 'no', 1],
  ])('reports %s as text and an exit code', (_, envelope, output, exitCode) => {
    expect(toToolResult<unknown>('t', envelope)).toMatchObject({ output, exitCode })
  })
})

describe('fromToolResult', () => {
  it('returns the same envelope', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(), (data, duration) => {
        const envelope = outputEnvelope(data, { duration_ms: duration })
        expect(fromToolResult(toToolResult('t', envelope))).toBe(envelope)
      }),
    )
  })

  it('survives serialization of only the documented fields', () => {
    fc.assert(
      fc.property(fc.string(), fc.nat(), fc.boolean(), (text, duration, worked) => {
        const envelope = worked
          ? outputEnvelope(text, { duration_ms: duration })
          : errorEnvelope(text, { duration_ms: duration })
        const { name, output, exitCode, metadataJson } = toToolResult('t', envelope)
        const back = fromToolResult({
          name,
          output,
          exitCode,
          ...(metadataJson === undefined ? {} : { metadataJson }),
        })
        expect(back).toMatchObject(envelope)
      }),
    )
  })

  it('rebuilds an envelope when there is no metadata at all', () => {
    expect(fromToolResult({ name: 't', output: 'x', exitCode: 0 })).toEqual(outputEnvelope('x'))
    expect(fromToolResult({ name: 't', output: 'x', exitCode: 3 })).toEqual(
      errorEnvelope('x', { exit_code: 3 }),
    )
  })

  it('does not trust a value that only looks like an envelope', () => {
    expect(fromToolResult({ name: 't', output: 'x', exitCode: 0, envelope: { type: 'output' } })).toEqual(
      outputEnvelope('x'),
    )
  })
})
