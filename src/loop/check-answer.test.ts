import { describe, expect, it } from 'vitest'
import { scriptedModel } from '../testing/index.js'
import { checkAnswer } from './check-answer.js'

const model = scriptedModel([])
const part = (id: string): object => ({ type: 'tool_call', id, function: { name: 'read', arguments: {} } })
const call = (id: string): object => ({ id, name: 'read', input: '{}' })
const whole = {
  content: [{ type: 'text', text: 'Hi.' }, part('a'), part('b')],
  text: 'Hi.',
  toolCalls: [call('a'), call('b')],
  usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
  finish: 'tool_calls',
  response: {},
}

describe('an answer of a model', () => {
  it('is accepted when it is complete', () => {
    expect(() => checkAnswer(model, whole)).not.toThrow()
  })

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['a list', []],
    ['no content', { ...whole, content: undefined }],
    ['no text', { ...whole, text: 7 }],
    ['no usage', { ...whole, usage: undefined }],
    ['no reason to finish', { ...whole, finish: undefined }],
    ['a call that is none', { ...whole, toolCalls: [call('a'), null] }],
    ['a call without an id', { ...whole, toolCalls: [call('a'), { name: 'read', input: '{}' }] }],
    ['a call whose input is not text', { ...whole, toolCalls: [call('a'), { ...call('b'), input: {} }] }],
    ['a call that the content does not hold', { ...whole, toolCalls: [...whole.toolCalls, call('c')] }],
    ['content with a call too many', { ...whole, toolCalls: [call('a')] }],
    ['calls in another order', { ...whole, toolCalls: [call('b'), call('a')] }],
    ['two calls of one id', { ...whole, content: [part('a'), part('a')], toolCalls: [call('a'), call('a')] }],
  ])('is rejected when it is or has %s', (_, answer) => {
    expect(() => checkAnswer(model, answer)).toThrow(expect.objectContaining({ code: 'model_bad_response' }))
  })
})
