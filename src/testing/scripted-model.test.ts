import { describe, expect, it } from 'vitest'
import { ModelError } from '../model/errors.js'
import type { ModelCall, ModelEvent } from '../model/model.js'
import type { CompletionRequest } from '../tool/completion.js'
import { scriptedModel } from './scripted-model.js'

const request: CompletionRequest = {
  chatHistory: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
  documents: [],
  tools: [],
}

function listen(signal = new AbortController().signal): ModelCall & { events: ModelEvent[] } {
  const events: ModelEvent[] = []
  return { events, signal, on: (event) => void events.push(event) }
}

describe('scriptedModel', () => {
  it('emits a step in pieces and returns all of it', async () => {
    const model = scriptedModel([
      {
        reasoning: 'hm well',
        signature: 'sig',
        text: 'one two',
        toolCalls: [{ name: 'read', args: { path: 'a' } }],
        usage: { inputTokens: 7, outputTokens: 3 },
      },
    ])
    const call = listen()
    const answer = await model.answer(request, call)
    expect(call.events).toEqual([
      { type: 'reasoning', text: 'hm ' },
      { type: 'reasoning', text: 'well' },
      { type: 'text', text: 'one ' },
      { type: 'text', text: 'two' },
      { type: 'tool_call', id: 'call_1_1', name: 'read' },
      { type: 'tool_input', id: 'call_1_1', text: '{"path":"a"}' },
    ])
    expect(answer).toMatchObject({
      content: [
        { type: 'reasoning', text: 'hm well', signature: 'sig' },
        { type: 'text', text: 'one two' },
        { type: 'tool_call', id: 'call_1_1', function: { name: 'read', arguments: { path: 'a' } } },
      ],
      text: 'one two',
      toolCalls: [{ id: 'call_1_1', name: 'read', input: '{"path":"a"}' }],
      usage: { inputTokens: 7, outputTokens: 3, totalTokens: 10 },
      finish: 'tool_calls',
    })
  })

  it('accepts strings as steps, splits text as configured, and keeps invalid arguments unchanged', async () => {
    const model = scriptedModel((_, n) =>
      n === 0 ? 'plain' : { deltas: ['a', '', 'bc'], toolCalls: [{ name: 't', input: '{"x":' }] },
    )
    expect((await model.answer(request, listen())).text).toBe('plain')
    const call = listen()
    const answer = await model.answer(request, call)
    expect(call.events.slice(0, 2)).toEqual([
      { type: 'text', text: 'a' },
      { type: 'text', text: 'bc' },
    ])
    expect(answer.toolCalls[0]?.input).toBe('{"x":')
  })

  it('cuts between characters, never inside one', async () => {
    const call = listen()
    await scriptedModel([{ text: 'a🦉b', deltas: 1 }]).answer(request, call)
    expect(call.events.map((event) => ('text' in event ? event.text : ''))).toEqual(['a', '🦉', 'b'])
  })

  it('records requests as they were when they arrived', async () => {
    const model = scriptedModel(['a', 'b'])
    const chatHistory = [...request.chatHistory]
    await model.answer({ ...request, chatHistory }, listen())
    chatHistory.push({ role: 'system', content: 'later' })
    await model.answer({ ...request, chatHistory }, listen())
    expect(model.requests.map((each) => each.chatHistory.length)).toEqual([1, 2])
  })

  it('reports that the script has ended', async () => {
    const model = scriptedModel(['only one'])
    await model.answer(request, listen())
    await expect(model.answer(request, listen())).rejects.toThrow(
      /has 1 step\(s\) and was asked for answer 2/,
    )
  })

  it('fails as scripted, after its output', async () => {
    const error = new ModelError('model_rate_limited', 'slow down', { status: 429 })
    const call = listen()
    await expect(scriptedModel([{ text: 'so', error }]).answer(request, call)).rejects.toBe(error)
    expect(call.events).toEqual([{ type: 'text', text: 'so' }])
  })

  it.each([{ hang: true }, { delayMs: 60_000 }])(
    'rejects with the reason of an abort while it waits: %j',
    async (step) => {
      const controller = new AbortController()
      const answer = scriptedModel([step]).answer(request, listen(controller.signal))
      const reason = new Error('enough')
      controller.abort(reason)
      await expect(answer).rejects.toBe(reason)
    },
  )

  it('continues only when the listener is ready', async () => {
    const gates: (() => void)[] = []
    const call = listen()
    const answering = scriptedModel([{ deltas: ['a', 'b'] }]).answer(request, {
      ...call,
      drain: () => new Promise<void>((resolve) => gates.push(resolve)),
    })
    await Promise.resolve()
    await new Promise(setImmediate)
    expect(call.events).toHaveLength(1)
    gates[0]?.()
    await new Promise(setImmediate)
    expect(call.events).toHaveLength(2)
    gates[1]?.()
    expect((await answering).text).toBe('ab')
  })
})
