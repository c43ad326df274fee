import { describe, expect, it } from 'vitest'
import { errorEnvelope, outputEnvelope } from '../tool/envelope.js'
import { RunError } from './errors.js'
import { createRepetition, type Repetition } from './repetition.js'

const same = outputEnvelope('nothing new')
const times = (repetition: Repetition, count: number, input = '{}') =>
  Array.from({ length: count }, () => repetition.note('look', input, same))

describe('the same call again and again', () => {
  it('is allowed up to the threshold, then warned about as often, and then ends the run', () => {
    const repetition = createRepetition(3)
    expect(times(repetition, 3)).toEqual([same, same, same])
    const warned = times(repetition, 3)
    expect(warned.map((envelope) => envelope.type === 'output' && envelope.data)).toEqual([
      expect.stringContaining('nothing new\n[You have made this same call of "look" 4 times'),
      expect.stringContaining('5 times'),
      expect.stringContaining('6 times'),
    ])
    expect(() => repetition.note('look', '{}', same)).toThrow(RunError)
    expect(() => repetition.note('look', '{}', same)).toThrow(/duplicateToolCallThreshold \(3\)/)
  })

  it('counts as progress as soon as its result changes', () => {
    const repetition = createRepetition(1)
    for (let at = 0; at < 10; at++) {
      const envelope = outputEnvelope(at)
      expect(repetition.note('look', '{}', envelope)).toBe(envelope)
    }
  })

  it('is a different call with another name or other arguments', () => {
    const repetition = createRepetition(1)
    for (let at = 0; at < 10; at++) expect(times(repetition, 1, `{"n":${at}}`)).toEqual([same])
    expect(repetition.note('other', '{"n":0}', same)).toBe(same)
  })

  it('is counted with other calls in between', () => {
    const repetition = createRepetition(1)
    times(repetition, 1, 'a')
    times(repetition, 1, 'b')
    expect(times(repetition, 1, 'a')).not.toEqual([same])
  })

  it('does not end a run with new calls in between', () => {
    const repetition = createRepetition(2)
    const failing = outputEnvelope('1 of 12 tests failed')
    for (let at = 0; at < 20; at++) {
      repetition.note('edit', `{"n":${at}}`, outputEnvelope('done'))
      expect(() => repetition.note('test', '{}', failing)).not.toThrow()
    }
  })

  it('ends a run when all calls in between are repeated ones too', () => {
    const repetition = createRepetition(2)
    const around = (): void => {
      times(repetition, 1, 'a')
      times(repetition, 1, 'b')
    }
    for (let at = 0; at < 4; at++) around()
    expect(around).toThrow(RunError)
  })

  it('is recognised by its result, also a long one', () => {
    const repetition = createRepetition(1)
    const long = 'x'.repeat(10_000)
    const first = outputEnvelope(`${long}a`)
    expect(repetition.note('read', '{}', first)).toBe(first)
    const other = outputEnvelope(`${long}b`)
    expect(repetition.note('read', '{}', other)).toBe(other)
    expect(repetition.note('read', '{}', other)).not.toBe(other)
  })

  it('warns inside the error of a failed call, and keeps the metadata of a result', () => {
    const repetition = createRepetition(1)
    const failed = errorEnvelope('not there', { exit_code: 2 })
    repetition.note('read', '{}', failed)
    expect(repetition.note('read', '{}', failed)).toMatchObject({
      type: 'error',
      error_text: expect.stringMatching(/^not there\nYou have made/),
      metadata: { exit_code: 2 },
    })
  })

  it('does not change images', () => {
    const repetition = createRepetition(1)
    const image = { type: 'image' as const, data: 'QUJD'.repeat(1000), mediaType: 'image/png' }
    repetition.note('see', '{}', outputEnvelope([image]))
    expect(repetition.note('see', '{}', outputEnvelope([image]))).toMatchObject({
      data: [image, { type: 'text', text: expect.stringContaining('2 times') }],
    })
  })

  it('is forgotten after enough other calls', () => {
    const repetition = createRepetition(1)
    times(repetition, 1, 'old')
    for (let at = 0; at < 300; at++) times(repetition, 1, String(at))
    expect(times(repetition, 1, 'old')).toEqual([same])
  })
})
