import { afterEach, describe, expect, it } from 'vitest'
import type { ServedStep } from './served-step.js'
import { type ModelServer, startModelServer } from './start-model-server.js'

let server: ModelServer | undefined
afterEach(async () => {
  await server?.close()
  server = undefined
})

async function ask(path: string, body: unknown, ...script: (ServedStep | string)[]): Promise<Response> {
  server ??= await startModelServer(script)
  return fetch(server.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-mine': '1' },
    body: JSON.stringify(body),
  })
}

const chat = '/v1/chat/completions'
const speaking: ServedStep = {
  reasoning: 'hm',
  text: 'Hello you',
  toolCalls: [{ name: 'read', args: { path: 'a' }, id: 'c1' }],
  usage: { inputTokens: 20, outputTokens: 9, cachedInputTokens: 4, cacheWriteTokens: 3, reasoningTokens: 2 },
}

function dataOf(text: string): unknown[] {
  return [...text.matchAll(/^data: (\{.*\})$/gm)].map((found) => JSON.parse(found[1] ?? ''))
}

describe('the model server', () => {
  it('answers chat completions in pieces and at once, from the same step', async () => {
    const streamed = await ask(chat, { model: 'm', stream: true, messages: [] }, speaking, speaking)
    expect(streamed.headers.get('content-type')).toBe('text/event-stream')
    const text = await streamed.text()
    expect(text.trimEnd().endsWith('data: [DONE]')).toBe(true)
    const chunks = dataOf(text) as { choices: { delta: { content?: string } }[]; usage?: unknown }[]
    expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toBe('Hello you')
    expect(chunks.at(-1)).toMatchObject({
      choices: [],
      usage: { prompt_tokens: 20, completion_tokens: 9, prompt_tokens_details: { cached_tokens: 4 } },
    })
    const whole = await ask(chat, { model: 'm', messages: [] })
    expect(await whole.json()).toMatchObject({
      model: 'm',
      choices: [
        {
          finish_reason: 'tool_calls',
          message: {
            content: 'Hello you',
            reasoning_content: 'hm',
            tool_calls: [{ id: 'c1', function: { name: 'read', arguments: '{"path":"a"}' } }],
          },
        },
      ],
      usage: { total_tokens: 29 },
    })
    expect(server?.requests).toMatchObject([
      { method: 'POST', path: chat, headers: { 'x-mine': '1' }, body: { stream: true } },
      { body: { messages: [] } },
    ])
  })

  it('supports the other protocols too', async () => {
    const message = await ask('/v1/messages', { model: 'c' }, speaking, speaking, speaking)
    expect(await message.json()).toMatchObject({
      content: [
        { type: 'thinking', thinking: 'hm' },
        { type: 'text', text: 'Hello you' },
        { type: 'tool_use', id: 'c1', name: 'read', input: { path: 'a' } },
      ],
      stop_reason: 'tool_use',
      usage: {
        input_tokens: 13,
        cache_read_input_tokens: 4,
        cache_creation_input_tokens: 3,
        output_tokens: 9,
      },
    })
    const response = await ask('/v1/responses', { model: 'r' })
    expect(await response.json()).toMatchObject({
      status: 'completed',
      output: [{ type: 'reasoning' }, { type: 'message' }, { type: 'function_call', call_id: 'c1' }],
    })
    const generated = await ask('/v1beta/models/g:streamGenerateContent?alt=sse', {})
    expect(dataOf(await generated.text()).at(-1)).toMatchObject({
      candidates: [{ finishReason: 'STOP' }],
      modelVersion: 'g',
    })
  })

  it('responds with the status, headers and message of the script', async () => {
    const refused = await ask(chat, {}, { status: 429, headers: { 'retry-after': '2' }, message: 'slow' })
    expect(refused.status).toBe(429)
    expect(refused.headers.get('retry-after')).toBe('2')
    expect(await refused.json()).toMatchObject({ error: { message: 'slow' } })
  })

  it('sends chunks verbatim, each by itself', async () => {
    const snowman = new TextEncoder().encode('data: ☃\n\n')
    const response = await ask(
      chat,
      { stream: true },
      { chunks: [snowman.subarray(0, 7), snowman.subarray(7), 'x'], chunkDelayMs: 5 },
    )
    const seen: number[] = []
    for await (const part of response.body ?? []) seen.push(part.length)
    expect(seen).toEqual([7, snowman.length - 7, 1])
  })

  it('writes events in the unusual ways of real servers', async () => {
    const odd: ServedStep = {
      text: 'a',
      tightData: true,
      lineEnd: '\r\n',
      heartbeats: 1,
      done: false,
      usagePlacement: 'last',
    }
    const text = await (await ask(chat, { stream: true }, odd)).text()
    expect(text.startsWith(': heartbeat\r\n\r\ndata:{')).toBe(true)
    expect(text).not.toContain('[DONE]')
    expect(text.match(/"usage"/g)).toHaveLength(1)
  })

  it('puts an error into the stream', async () => {
    const streamError = { type: 'overloaded_error', message: 'busy' }
    const text = await (await ask('/v1/messages', { stream: true }, { text: 'a', streamError })).text()
    expect(dataOf(text).at(-1)).toEqual({ type: 'error', error: streamError })
  })

  it('cuts the connection after a number of bytes', async () => {
    const response = await ask(chat, { stream: true }, { text: 'abc', dropAfterBytes: 40 })
    let bytes = 0
    const reading = (async () => {
      for await (const part of response.body ?? []) bytes += part.length
    })()
    await expect(reading).rejects.toThrow()
    expect(bytes).toBe(40)
    expect(await server?.requests[0]?.ended).toBe('dropped')
  })

  it('stalls until the client disconnects, and detects that', async () => {
    server = await startModelServer([{ text: 'a b c', stall: 2, stallHeartbeatMs: 5 }])
    const controller = new AbortController()
    const response = await fetch(server.url + chat, {
      method: 'POST',
      body: '{"stream":true}',
      signal: controller.signal,
    })
    const reader = response.body?.getReader()
    let text = ''
    while (!text.includes('heartbeat')) text += new TextDecoder().decode((await reader?.read())?.value)
    expect(dataOf(text)).toHaveLength(2)
    controller.abort()
    expect(await (await server.request(0)).ended).toBe('left')
  })

  it('closes while it stalls', async () => {
    const pending = ask(chat, { stream: true }, { stall: true })
    const response = await pending
    const reading = response.text().then(
      () => 'whole',
      () => 'cut',
    )
    await server?.close()
    expect(await reading).toBe('cut')
  })

  it('reports a script that has ended, and an unknown path', async () => {
    expect(await (await ask(chat, {}, 'one')).text()).toContain('one')
    const over = await ask(chat, {})
    expect(over.status).toBe(400)
    expect(await over.text()).toContain('ended before request 2')
    expect(await (await ask('/v1/other', {})).text()).toContain('does not support /v1/other')
  })
})
