import { describe, expect, it, onTestFinished } from 'vitest'
import { startModelServer } from '../../testing/index.js'
import type { JsonObject } from '../../tool/json.js'
import { createModel } from '../provider.js'
import { generateObject } from './generate-object.js'

const schema: JsonObject = {
  type: 'array',
  items: { $ref: '#/$defs/node' },
  $defs: {
    node: {
      type: 'object',
      required: ['name'],
      properties: { name: { type: 'string' }, next: { $ref: '#/$defs/node' }, kind: { enum: ['a', 'b'] } },
    },
  },
}
const value: JsonObject[] = [{ name: 'x', next: { name: 'y' }, kind: 'a' }]

describe.each([
  ['anthropic', 'claude-sonnet-4-5', '', 'native'],
  ['openai-responses', 'gpt-5-mini', '/v1', 'native'],
  // Its structured output accepts no schema that refers to itself.
  ['google', 'gemini-2.5-flash', '/v1beta', 'tool'],
  ['vllm', 'qwen3', '/v1', 'native'],
])('over the protocol of %s', (provider, id, path, best) => {
  it.each(['auto', 'tool', 'prompt'] as const)('in the mode %s an answer is repaired', async (mode) => {
    const server = await startModelServer((request, n) => {
      const given = n === 0 ? [{ name: 1 }] : value
      const sent = JSON.stringify(request.body)
      if (mode === 'prompt') return JSON.stringify(given)
      const called = /"(?:name)":"(emit_list|json)"/.exec(sent)?.[1]
      if (called === undefined) return JSON.stringify({ value: given })
      return { toolCalls: [{ name: called, args: { value: given } }] }
    })
    onTestFinished(() => server.close())
    const model = createModel({
      provider,
      id,
      apiKey: 'k',
      baseUrl: `${server.url}${path}`,
      facts: { structuredOutput: true },
    })
    const partials: unknown[] = []
    const made = await generateObject(
      { schema, prompt: 'List them.', schemaName: 'list', mode },
      {
        facts: model.facts,
        now: () => 0,
        onPartial: (partial) => void partials.push(partial),
        ask: (asked, signal, hear) =>
          model.answer(
            { ...asked, documents: [] },
            {
              signal,
              on: (event) => {
                if (event.type === 'text') hear({ text: event.text })
                else if (event.type === 'tool_input') hear({ text: event.text, callId: event.id })
              },
            },
          ),
      },
    )
    expect(made).toMatchObject({ object: value, repairAttempts: 1 })
    expect(made.mode).toBe(mode === 'auto' ? best : mode)
    expect(partials.at(-1)).toEqual({ value, repairAttempt: 1 })
    expect(JSON.stringify(server.requests[1]?.body)).toContain('[0].name: expected string')
  })
})
