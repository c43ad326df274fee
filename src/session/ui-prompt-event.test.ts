import { describe, expect, it } from 'vitest'
import { CapstanError } from '../tool/errors.js'
import { shownEvent } from './ui-prompt-event.js'

describe('an event of a built agent as a UI message event', () => {
  it('is a text or reasoning of a session', () => {
    expect(shownEvent({ type: 'text_delta', turn: 1, delta: 'Hi' })).toEqual({
      type: 'text_delta',
      text: 'Hi',
    })
    expect(shownEvent({ type: 'reasoning_delta', turn: 1, delta: 'Hm' })).toEqual({
      type: 'reasoning_delta',
      text: 'Hm',
    })
  })

  it('is a call with its arguments as JSON text, with the id that the provider knows', () => {
    const toolCall = { id: 'a', function: { name: 'add', arguments: { a: 1 } } }
    const shown = { type: 'tool_execution_start', toolName: 'add', args: '{"a":1}' }
    expect(shownEvent({ type: 'tool_call', turn: 1, toolCall })).toEqual({ ...shown, toolId: 'a' })
    expect(shownEvent({ type: 'tool_call', turn: 1, toolCall: { ...toolCall, callId: 'b' } })).toEqual({
      ...shown,
      toolId: 'b',
    })
    const bare = { id: 'a', function: { name: 'now', arguments: undefined } }
    expect(shownEvent({ type: 'tool_call', turn: 1, toolCall: bare })).toMatchObject({ args: '{}' })
  })

  it('is the result of a call', () => {
    const event = { type: 'tool_result', turn: 1, toolName: 'add', toolCallId: 'a', result: '3' } as const
    expect(shownEvent(event)).toMatchObject({
      type: 'tool_end',
      toolId: 'a',
      toolOutput: '3',
      isError: false,
    })
  })

  it('is an error with its own message, with the code of an error of Capstan', () => {
    const known = new CapstanError('model_unreachable', 'No answer.')
    expect(shownEvent({ type: 'error', error: known })).toEqual({
      type: 'error',
      error: 'No answer.',
      code: 'model_unreachable',
    })
    expect(shownEvent({ type: 'error', error: new Error('broken') })).toEqual({
      type: 'error',
      error: 'broken',
    })
  })

  it('is nothing for a piece of a call, and the end for the last one', () => {
    expect(shownEvent({ type: 'tool_call_delta' })).toBeUndefined()
    expect(shownEvent({ type: 'final', output: 'done' })).toEqual({ type: 'final' })
  })

  it('is rejected when it is not an event at all', () => {
    for (const wrong of [undefined, null, 'text', 7, {}, { type: 1 }])
      expect(() => shownEvent(wrong as never)).toThrow('must give events')
  })
})
