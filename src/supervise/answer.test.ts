import { describe, expect, it } from 'vitest'
import { readAnswer } from './answer.js'

const message = (fields: object): string => JSON.stringify({ jsonrpc: '2.0', ...fields })

describe('readAnswer', () => {
  it('reads a result with the id of its request', () => {
    expect(readAnswer(message({ id: '7', result: { decision: 'allow' } }))).toEqual({
      id: '7',
      result: { decision: 'allow' },
    })
  })

  it('accepts null as a result, and distinguishes it from a missing one', () => {
    expect(readAnswer(message({ id: '7', result: null }))).toEqual({ id: '7', result: null })
  })

  it.each([
    [{ code: -32601, message: 'no such method' }, 'no such method (-32601)'],
    [{ message: 'busy' }, 'busy'],
    [{ code: 3 }, 'no reason given (3)'],
    [{ message: '' }, 'no reason given'],
    [{ code: '3', message: ['x'] }, 'no reason given'],
  ])('reads the error %j as text', (error, words) => {
    expect(readAnswer(message({ id: '7', error }))).toEqual({ id: '7', error: words })
  })

  it('reads an error without an id, from a peer that could not parse the request', () => {
    expect(readAnswer(message({ id: null, error: { message: 'parse error' } }))).toEqual({
      id: null,
      error: 'parse error',
    })
  })

  it('returns nothing for a notification or a request of the peer', () => {
    expect(readAnswer(message({ method: 'ahp/hello' }))).toBeUndefined()
    expect(readAnswer(message({ id: '1', method: 'ahp/ask', params: {} }))).toBeUndefined()
  })

  it.each([
    ['no JSON', 'not json at all'],
    ['a list', '[]'],
    ['null', 'null'],
    ['another protocol', '{"jsonrpc":"1.0","id":"1","result":1}'],
    ['a number as the id', message({ id: 1, result: 1 })],
    ['no id', message({ result: 1 })],
    ['neither result nor error', message({ id: '1' })],
    ['an error that is not an object', message({ id: '1', error: 'x' })],
    ['a result with an error that is not an object', message({ id: '1', result: 1, error: 'x' })],
  ])('rejects %s, and does not repeat the text', (_, text) => {
    expect(() => readAnswer(text)).toThrow(expect.objectContaining({ code: 'supervision_protocol' }))
    expect(() => readAnswer(text)).not.toThrow(text)
  })
})
