import { describe, expect, it } from 'vitest'
import type { CompletionRequest, Message } from '../tool/completion.js'
import { AnswerBuilder } from './answer-builder.js'
import type { ModelEvent } from './model.js'

const historyWith = (...ids: string[]): Message[] =>
  ids.map((id) => ({
    role: 'assistant',
    content: [{ type: 'tool_call', id, function: { name: 'f', arguments: {} } }],
  }))

function start(chatHistory: Message[] = []) {
  const request: CompletionRequest = { chatHistory, documents: [], tools: [] }
  const said: ModelEvent[] = []
  return { builder: new AnswerBuilder(request, { on: (event) => said.push(event) }), said }
}

describe('an answer in progress', () => {
  it('keeps the order of reasoning, text and calls', () => {
    const { builder, said } = start()
    builder.reasoning('a', { id: 'r1' })
    builder.reasoning('b')
    builder.reasoning('', { signature: 'sig' })
    builder.text('x')
    builder.text('y')
    builder.toolCall('f', '1').append('{"a":1}')
    builder.reasoning('c', { id: 'r2' })
    builder.reasoning('d', { id: 'r3' })
    builder.text('z')
    const answer = builder.finish({ finish: 'stop' })
    expect(answer.content).toEqual([
      { type: 'reasoning', text: 'ab', id: 'r1', signature: 'sig' },
      { type: 'text', text: 'xy' },
      { type: 'tool_call', id: '1', function: { name: 'f', arguments: { a: 1 } } },
      { type: 'reasoning', text: 'c', id: 'r2' },
      { type: 'reasoning', text: 'd', id: 'r3' },
      { type: 'text', text: 'z' },
    ])
    expect(answer.text).toBe('xyz')
    expect(said.map(({ type }) => type)).toEqual([
      'reasoning',
      'reasoning',
      'text',
      'text',
      'tool_call',
      'tool_input',
      'reasoning',
      'reasoning',
      'text',
    ])
  })

  it('ignores empty pieces', () => {
    const { builder, said } = start()
    builder.text('')
    builder.reasoning('')
    expect([builder.emitted, builder.pieces, said.length]).toEqual([false, 0, 0])
    expect(builder.finish({ finish: 'stop' })).toMatchObject({ content: [], text: '', response: {} })
  })

  it('gives every call an id that is unique in the conversation, and deterministic', () => {
    const { builder } = start(historyWith('a', 'call_3'))
    expect([builder.toolCall('f', 'a').id, builder.toolCall('f').id, builder.toolCall('f', '').id]).toEqual([
      'call_4',
      'call_5',
      'call_6',
    ])
    expect(builder.toolCall('f', 'b').id).toBe('b')
    expect(builder.toolCall('f', 'b').id).not.toBe('b')
  })

  it('replaces arguments that come again as a whole, without emitting them twice', () => {
    const { builder, said } = start()
    const call = builder.toolCall('f', '1')
    call.append('{"a"')
    call.settle('{"a":1}')
    call.settle('{"b":2}')
    call.mark({ callId: 'item', signature: 's' })
    expect(said.slice(1)).toEqual([
      { type: 'tool_input', id: '1', text: '{"a"' },
      { type: 'tool_input', id: '1', text: ':1}' },
    ])
    expect(builder.finish({ finish: 'tool_calls' })).toMatchObject({
      toolCalls: [{ id: '1', name: 'f', input: '{"b":2}' }],
      content: [{ id: '1', callId: 'item', signature: 's', function: { arguments: { b: 2 } } }],
    })
  })

  it.each([
    ['', '{}', {}],
    [' \n', '{}', {}],
    ['{"a":', '{"a":', '{"a":'],
    ['[1]', '[1]', '[1]'],
    ['{"__proto__":{"x":1},"a":2}', '{"__proto__":{"x":1},"a":2}', { a: 2 }],
  ])('has %j as the input %j and as the arguments %j', (text, input, args) => {
    const { builder } = start()
    builder.toolCall('f', '1').append(text)
    const { toolCalls, content } = builder.finish({ finish: 'stop' })
    expect(toolCalls[0]?.input).toBe(input)
    expect(content[0]).toMatchObject({ function: { arguments: args } })
  })

  it.each([
    ['stop', true, 'tool_calls'],
    ['other', true, 'tool_calls'],
    ['length', true, 'length'],
    ['tool_calls', false, 'stop'],
    ['content_filter', false, 'content_filter'],
  ] as const)('that ends with %s and calls a tool (%s) ends with %s', (said, calls, finish) => {
    const { builder } = start()
    if (calls) builder.toolCall('f')
    expect(builder.finish({ finish: said }).finish).toBe(finish)
  })
})
