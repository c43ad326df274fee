import { describe, expect, it } from 'vitest'
import type { AgentEvent } from '../../src/loop/events.js'
import { createModel } from '../../src/model/provider.js'
import type { ServedStep } from '../../src/testing/index.js'
import type { JsonObject } from '../../src/tool/json.js'
import {
  bodyOf,
  calls,
  collect,
  eventsOf,
  later,
  type Opened,
  ofType,
  openSession,
  type Script,
  toolResults,
  until,
} from './open-session.js'

const sentiment: JsonObject = {
  type: 'object',
  required: ['sentiment', 'confidence'],
  properties: {
    sentiment: { type: 'string', enum: ['positive', 'negative', 'neutral'] },
    confidence: { type: 'number', minimum: 0, maximum: 1 },
  },
}
const request = {
  schema: sentiment,
  prompt: 'Classify: "This product is amazing!"',
  schema_name: 'sentiment',
  mode: 'tool',
  max_repair_attempts: 2,
}
const fits = { sentiment: 'positive', confidence: 0.95 }

function emits(input: JsonObject | string, more: Partial<ServedStep> = {}): ServedStep {
  const call = typeof input === 'string' ? { input } : { args: input }
  return {
    toolCalls: [{ name: 'emit_sentiment', ...call }],
    usage: { inputTokens: 10, outputTokens: 5 },
    ...more,
  }
}

type AskedBody = ReturnType<typeof bodyOf> & { readonly response_format?: unknown }

describe('generate_object called by the host', () => {
  it('returns an object that matches at once', async () => {
    const { server, session } = await openSession([emits(fits)])
    const result = await session.tool('generate_object', request)
    const { object } = JSON.parse(result.output)
    expect(object).toEqual(fits)
    expect(result.exitCode).toBe(0)
    expect(JSON.parse(result.metadataJson ?? '')).toMatchObject({
      schema_name: 'sentiment',
      mode_used: 'tool',
      repair_attempts: 0,
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
    })
    const body = bodyOf(server, 0)
    expect(body.tools).toMatchObject([{ function: { name: 'emit_sentiment', parameters: sentiment } }])
    expect(body.tool_choice).toEqual({ type: 'function', function: { name: 'emit_sentiment' } })
    expect(body.messages.map(({ role }) => role)).toEqual(['system', 'user'])
  })

  it('repairs once: the model reads the problem, and both answers are counted', async () => {
    const { server, session } = await openSession([
      emits({ sentiment: 'great', confidence: '0.9' }),
      emits(fits),
    ])
    const result = await session.tool('generate_object', request)
    expect(JSON.parse(result.output)).toMatchObject({ object: fits, repair_attempts: 1 })
    expect(result.metadata).toMatchObject({ repair_attempts: 1, usage: { total_tokens: 30 } })
    const [correction] = toolResults(server, 1)
    expect(correction).toMatch(/sentiment: expected one of "positive", "negative", "neutral"; got "great"/)
    expect(correction).toMatch(/confidence: expected number; got "0\.9"/)
  })

  it('fails when no answer matches, with the last problems and the text if that was requested', async () => {
    const wrong = emits({ sentiment: 'great', confidence: 2 })
    const { server, session } = await openSession([wrong, wrong, wrong, wrong])
    const result = await session.tool('generate_object', { ...request, include_raw_text: true })
    expect(result.exitCode).toBe(1)
    expect(result.output).toMatch(/2 repair attempt\(s\) did not help/)
    expect(result.output).toMatch(/confidence: expected at most 1; got 2/)
    expect(result.output).toContain('{"sentiment":"great","confidence":2}')
    expect(result.metadata).toMatchObject({ error_code: 'object_invalid', repair_attempts: 2 })
    expect(server.requests).toHaveLength(3)
  })

  it('reports that an answer was cut off', async () => {
    const cut = emits('{"sentiment":"posi', { finish: 'length' })
    const { server, session } = await openSession([cut, cut])
    const result = await session.tool('generate_object', { ...request, max_repair_attempts: 1 })
    expect(result.output).toContain('cut off by the output limit')
    expect(result.metadata).toMatchObject({ truncated_answer: true })
    expect(toolResults(server, 1)[0]).toContain('cut off by the output limit')
  })

  it('checks the format of dates and addresses', async () => {
    const schema = {
      type: 'object',
      required: ['at', 'mail'],
      properties: { at: { type: 'string', format: 'date' }, mail: { type: 'string', format: 'email' } },
    }
    const right = { at: '2024-02-29', mail: 'a@example.test' }
    const { server, session } = await openSession([emits({ at: '2024-02-30', mail: 'nobody' }), emits(right)])
    const result = await session.tool('generate_object', { ...request, schema })
    expect(JSON.parse(result.output).object).toEqual(right)
    expect(toolResults(server, 1)[0]).toMatch(
      /at: expected the format date[\s\S]*mail: expected the format email/,
    )
  })

  it.each<[string, JsonObject, unknown]>([
    ['list', { type: 'array', items: { type: 'string' } }, ['a', 'b']],
    ['text', { type: 'string' }, 'a'],
    ['number', { type: 'integer' }, 7],
  ])('accepts a %s at the root', async (_, schema, value) => {
    const { server, session } = await openSession([emits({ value } as JsonObject)])
    const result = await session.tool('generate_object', { ...request, schema })
    expect(JSON.parse(result.output).object).toEqual(value)
    expect(JSON.stringify(bodyOf(server, 0).tools)).toContain('"required":["value"]')
  })

  it('accepts a schema that refers to itself', async () => {
    const schema = {
      $ref: '#/$defs/node',
      $defs: {
        node: {
          type: 'object',
          required: ['name'],
          properties: { name: { type: 'string' }, next: { $ref: '#/$defs/node' } },
        },
      },
    }
    const wrong = { value: { name: 'a', next: { name: 'b', next: {} } } }
    const right = { value: { name: 'a', next: { name: 'b' } } }
    const { server, session } = await openSession([emits(wrong), emits(right)])
    const result = await session.tool('generate_object', { ...request, schema })
    expect(JSON.parse(result.output).object).toEqual(right.value)
    expect(toolResults(server, 1)[0]).toContain('next.next.name: required field is missing')
  })

  it.each([
    ['left out', {}],
    ['auto', { mode: 'auto' }],
  ])('calls a tool on a server with a custom address when the mode is %s', async (_, mode) => {
    const { server, session } = await openSession([emits(fits)])
    const { mode: __, ...rest } = request
    const result = await session.tool('generate_object', { ...rest, ...mode })
    expect(JSON.parse(result.output)).toMatchObject({ object: fits, mode_used: 'tool' })
    expect(result.metadata).toMatchObject({ mode_used: 'tool' })
    const body: AskedBody = bodyOf(server, 0)
    expect(body.response_format).toBeUndefined()
    expect(JSON.stringify(body.tools)).toContain('emit_')
  })

  it('uses the structured output of a provider that has it, and a tool when the server rejects that', async () => {
    const withFacts = async (script: Script): Promise<Pick<Opened, 'server' | 'session'>> => {
      const { server, agent, root } = await openSession(script)
      const model = createModel({
        provider: 'openai',
        id: 'docs-model',
        apiKey: 'test-key',
        baseUrl: `${server.url}/v1`,
        facts: { structuredOutput: true },
      })
      return { server, session: agent.session(root, { model }) }
    }
    const native = await withFacts([JSON.stringify(fits)])
    const { mode: _, ...auto } = request
    const result = await native.session.tool('generate_object', auto)
    expect(JSON.parse(result.output)).toMatchObject({ object: fits, mode_used: 'native' })
    const body: AskedBody = bodyOf(native.server, 0)
    expect(body.response_format).toMatchObject({ type: 'json_schema', json_schema: { schema: sentiment } })
    expect(body.tools).toBeUndefined()

    const refusing = await withFacts([
      { status: 400, message: 'response_format is not supported' },
      emits(fits),
      emits(fits),
    ])
    const second = await refusing.session.tool('generate_object', auto)
    expect(JSON.parse(second.output)).toMatchObject({ object: fits, mode_used: 'tool', repair_attempts: 0 })
    // It is not asked for again.
    await refusing.session.tool('generate_object', auto)
    expect(refusing.server.requests).toHaveLength(3)
  })

  it('writes the schema into the prompt when configured', async () => {
    const { server, session } = await openSession([`Here:\n\`\`\`json\n${JSON.stringify(fits)}\n\`\`\``])
    const result = await session.tool('generate_object', { ...request, mode: 'prompt' })
    expect(JSON.parse(result.output)).toMatchObject({ object: fits, mode_used: 'prompt' })
    const body = bodyOf(server, 0)
    expect(body.tools).toBeUndefined()
    expect(JSON.stringify(body.messages)).toContain('positive')
  })

  it('rejects a schema that is too large, or has outside references, without a request', async () => {
    const { server, session } = await openSession(['never'])
    const properties = Object.fromEntries(
      Array.from({ length: 20_000 }, (_, n) => [`p${n}`, { type: 'string' }]),
    )
    const large = await session.tool('generate_object', {
      ...request,
      schema: { type: 'object', properties },
    })
    expect(large.output).toMatch(/characters of JSON; the maximum is 200000/)
    const outside = await session.tool('generate_object', {
      ...request,
      schema: { $ref: 'http://169.254.169.254/latest/meta-data' },
    })
    expect(outside.output).toContain('points to nothing inside the schema')
    expect(server.requests).toHaveLength(0)
  })

  it('ends when its time limit is reached', async () => {
    const { session } = await openSession([emits(fits, { stall: true })])
    const result = await session.tool('generate_object', { ...request, timeout_ms: 1000 })
    expect(result.output).toContain('no object within 1000 ms')
    expect(result.metadata).toMatchObject({ error_code: 'object_timeout' })
  })

  it('ends when it is aborted, with its connection', async () => {
    const stop = new AbortController()
    const { server, session } = await openSession([emits(fits, { stall: true })])
    const calling = session.tool('generate_object', request, { signal: stop.signal })
    const arrived = await server.request(0)
    stop.abort()
    expect((await calling).exitCode).toBe(1)
    expect(await arrived.ended).toBe('left')
  })

  it('is refused by a budget guard like every other request, and counted like one', async () => {
    const { server, session } = await openSession([emits({ sentiment: 'no' }), emits(fits)])
    let asked = 0
    const recorded: number[] = []
    session.setBudgetGuard({
      checkBeforeLlm: () => (++asked > 1 ? { decision: 'deny', resource: 'usd', reason: 'spent' } : null),
      recordAfterLlm: (_, usage) => void recorded.push(usage.totalTokens),
    })
    const result = await session.tool('generate_object', request)
    expect(result.output).toContain("Budget exhausted on 'usd': spent")
    expect(server.requests).toHaveLength(1)
    expect(recorded).toEqual([15])
  })

  it('retries when a server is busy', async () => {
    const { session } = await openSession([{ status: 429, headers: { 'retry-after': '0' } }, emits(fits)])
    const result = await session.tool('generate_object', request)
    expect(JSON.parse(result.output)).toMatchObject({ object: fits, repair_attempts: 0 })
  })

  it('adds nothing to the conversation', async () => {
    const { server, session } = await openSession([emits(fits), 'hello'])
    await session.tool('generate_object', request)
    await session.send('hi')
    expect(JSON.stringify(bodyOf(server, 1).messages)).not.toContain('amazing')
  })
})

describe('generate_object called by the model', () => {
  it('needs no approval, and the model reads the object', async () => {
    const { server, session } = await openSession([
      calls(['generate_object', request]),
      emits(fits),
      'It is positive.',
    ])
    expect((await session.send('Classify it.')).text).toBe('It is positive.')
    expect(JSON.parse(toolResults(server, 2)[0] ?? '')).toMatchObject({ object: fits })
  })

  it('streams partial objects that only grow, and the last is the object', async () => {
    const invoices = Array.from({ length: 12 }, (_, n) => ({
      id: n,
      buyer: `Buyer ${n}`,
      lines: [{ text: 'rope' }],
    }))
    const schema = {
      type: 'array',
      items: { type: 'object', required: ['id'], properties: { id: { type: 'integer' } } },
    }
    let now = 0
    const { session } = await openSession(
      [
        calls(['generate_object', { schema, prompt: 'Extract all invoices', mode: 'tool' }]),
        { toolCalls: [{ name: 'emit_result', args: { value: invoices } }], deltas: 7 },
        'Done.',
      ],
      { hostEnv: { clock: { now: () => (now += 10) } } },
    )
    const partials: unknown[] = []
    for await (const event of await session.stream('Extract all invoices...')) {
      if (event.type === 'tool_output_delta' && event.toolName === 'generate_object') {
        const { object_partial } = JSON.parse(event.text)
        partials.push(object_partial)
      }
    }
    expect(partials.length).toBeGreaterThan(5)
    expect(partials.at(-1)).toEqual(invoices)
    for (const [n, partial] of partials.slice(1).entries())
      expect(partial).toMatchObject(lessLast(partials[n]))
  })

  it('reports which repair a partial object belongs to', async () => {
    const { session } = await openSession([
      calls(['generate_object', request]),
      emits({ sentiment: 'bad' }),
      emits(fits),
      'Done.',
    ])
    const texts = deltas(await eventsOf(session, 'go')).map(({ text }) => JSON.parse(text))
    expect(texts.at(0)).not.toHaveProperty('repair_attempt')
    expect(texts.at(-1)).toEqual({ object_partial: fits, repair_attempt: 1 })
  })

  it('redacts a secret from partial objects, also a part of it', async () => {
    const schema = { type: 'object', properties: { key: { type: 'string' } } }
    let now = 0
    const { session } = await openSession(
      [
        calls(['generate_object', { schema, prompt: 'x', mode: 'tool' }]),
        { toolCalls: [{ name: 'emit_result', args: { key: 'it is test-key indeed' } }], deltas: 1 },
        'Done.',
      ],
      { hostEnv: { clock: { now: () => (now += 100) } } },
    )
    const events = deltas(await eventsOf(session, 'go'))
    expect(events.length).toBeGreaterThan(5)
    for (const { text } of events) {
      expect(text).not.toMatch(/test-ke/)
      expect(() => JSON.parse(text)).not.toThrow()
    }
  })

  it('gives a late reader complete partial objects, the newest at the end', async () => {
    const items = Array.from({ length: 900 }, (_, n) => n)
    let now = 0
    const { session } = await openSession(
      [
        calls(['generate_object', { schema: { type: 'array' }, prompt: 'x', mode: 'tool' }]),
        { toolCalls: [{ name: 'emit_result', args: { value: items } }], deltas: 4 },
        'Done.',
      ],
      { hostEnv: { clock: { now: () => (now += 100) } } },
    )
    const stream = await session.stream('go')
    const done = later()
    session.registerHook('end', 'generate_end', null, null, (event) => {
      if (JSON.stringify(event).includes('Done.')) done.resolve()
    })
    await done.promise
    const texts = deltas(await collect(stream)).map(({ text }) => JSON.parse(text))
    expect(texts.at(-1)).toEqual({ object_partial: items })
  })

  it('is cancelled in the middle with its run', async () => {
    const { server, session } = await openSession([
      calls(['generate_object', request]),
      emits(fits, { stall: 4 }),
    ])
    const stream = await session.stream('go')
    expect(JSON.parse((await until(stream, 'tool_output_delta')).text)).toEqual({ object_partial: {} })
    await session.cancel()
    expect((await collect(stream)).at(-1)?.type).toBe('agent_cancelled')
    expect(await server.requests[1]?.ended).toBe('left')
  })
})

function deltas(events: readonly AgentEvent[]): Extract<AgentEvent, { type: 'tool_output_delta' }>[] {
  return ofType(events, 'tool_output_delta')
}

/** All but the last item, which may still have been growing. */
function lessLast(partial: unknown): object {
  return Array.isArray(partial) ? Object.fromEntries(partial.slice(0, -1).entries()) : {}
}
