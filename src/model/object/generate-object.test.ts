import { describe, expect, it } from 'vitest'
import { type ScriptedStep, scriptedModel } from '../../testing/index.js'
import type { CompletionRequest } from '../../tool/completion.js'
import type { JsonSchema } from '../../tool/json.js'
import { ModelError } from '../errors.js'
import type { ModelFacts } from '../model.js'
import { ObjectGenerationError } from './errors.js'
import { generateObject, type ObjectParts } from './generate-object.js'
import type { ObjectRequest, PartialObject } from './object-request.js'

const mood: JsonSchema = {
  type: 'object',
  required: ['mood', 'score'],
  properties: {
    mood: { type: 'string', enum: ['good', 'bad'] },
    score: { type: 'number', minimum: 0, maximum: 1 },
  },
  additionalProperties: false,
}
const good = { mood: 'good', score: 0.9 }

function emits(args: unknown, name = 'emit_result'): ScriptedStep {
  return { toolCalls: [{ name, input: JSON.stringify(args) }], usage: { inputTokens: 10, outputTokens: 5 } }
}

/** A request to a model that answers from a script. */
function generating(
  script: (ScriptedStep | string)[],
  request: Partial<ObjectRequest> = {},
  { facts, ...parts }: Partial<Omit<ObjectParts, 'facts'>> & { readonly facts?: Partial<ModelFacts> } = {},
) {
  const model = scriptedModel(script, { facts: facts ?? {} })
  const result = generateObject(
    { schema: mood, prompt: 'Classify.', ...request },
    {
      facts: model.facts,
      now: () => 0,
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
      ...parts,
    },
  )
  return { model, result }
}

async function failureOf(result: Promise<unknown>): Promise<ObjectGenerationError> {
  const error: unknown = await result.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (error instanceof ObjectGenerationError) return error
  throw new Error(`expected an ObjectGenerationError, got ${String(error)}`)
}

function lastTexts(request: CompletionRequest | undefined): string {
  return JSON.stringify(request?.chatHistory.slice(1))
}

describe('the way in which an object is requested', () => {
  it('is the provider’s own structured output if it has that', async () => {
    const { model, result } = generating([JSON.stringify(good)])
    expect(await result).toMatchObject({ object: good, mode: 'native', repairAttempts: 0 })
    expect(model.requests[0]).toMatchObject({ outputSchema: mood, tools: [] })
    expect(model.requests[0]?.toolChoice).toBeUndefined()
  })

  it('is a tool that the model must call if it has none', async () => {
    const { model, result } = generating(
      [emits(good, 'emit_mood')],
      { schemaName: 'mood', schemaDescription: 'A mood.', system: 'Be terse.' },
      { facts: { structuredOutput: false } },
    )
    expect(await result).toMatchObject({ object: good, mode: 'tool' })
    expect(model.requests[0]).toMatchObject({
      tools: [{ name: 'emit_mood', description: 'A mood.', parameters: mood }],
      toolChoice: { type: 'tool', name: 'emit_mood' },
      instructions: expect.stringContaining('Be terse.'),
    })
    expect(model.requests[0]?.outputSchema).toBeUndefined()
  })

  it('is the prompt if the model has no tools either, whatever mode was requested', async () => {
    for (const mode of ['auto', 'tool', 'prompt'] as const) {
      const { model, result } = generating(
        [JSON.stringify(good)],
        { mode },
        { facts: { structuredOutput: false, tools: false } },
      )
      expect(await result).toMatchObject({ object: good, mode: 'prompt' })
      expect(model.requests[0]).toMatchObject({ tools: [] })
      expect(JSON.stringify(model.requests[0]?.chatHistory)).toContain('additionalProperties')
    }
  })

  it('is the next one if the provider rejects it', async () => {
    const refused = (): ScriptedStep => ({
      error: new ModelError('model_request_refused', 'response_format is not available'),
    })
    const all = generating([refused(), refused(), refused(), JSON.stringify(good)])
    expect(await all.result).toMatchObject({ object: good, mode: 'prompt', repairAttempts: 0 })
    expect(
      all.model.requests.map(({ outputSchema, toolChoice, tools }) => [
        !!outputSchema,
        !!toolChoice,
        tools.length,
      ]),
    ).toEqual([
      [true, false, 0],
      [false, true, 1],
      [false, false, 1],
      [false, false, 0],
    ])
    const tool = generating([refused(), refused()], { mode: 'tool' })
    await expect(tool.result).rejects.toThrow('response_format is not available')
  })

  it('does not change after other failures of the model', async () => {
    const { model, result } = generating([{ error: new ModelError('model_auth', 'no key') }])
    await expect(result).rejects.toThrow('no key')
    expect(model.requests).toHaveLength(1)
  })

  it('changes to a tool if a server accepts a schema and ignores it', async () => {
    const { model, result } = generating(['It is good.', emits(good)])
    expect(await result).toMatchObject({ object: good, mode: 'tool', repairAttempts: 1 })
    expect(model.requests[1]).toMatchObject({ tools: [{ name: 'emit_result' }] })
  })
})

describe('an answer', () => {
  const prompted = { mode: 'prompt' } as const
  it.each([
    ['alone', '{"mood":"good","score":0.9}'],
    ['in a fence', '```json\n{"mood":"good","score":0.9}\n```'],
    ['inside other text', 'Here it is:\n{"mood":"good","score":0.9}\nAnything else?'],
    ['in a fence inside other text', 'Sure.\n```\n{"mood":"good","score":0.9}\n```\nDone.'],
    ['after reasoning', '<think>Is it {bad}?</think>{"mood":"good","score":0.9}'],
    ['with slips of writing', "{'mood': 'good', score: 0.9,}"],
  ])('is read when its JSON is %s', async (_, text) => {
    expect(await generating([text], prompted).result).toMatchObject({ object: good, repairAttempts: 0 })
  })

  it('is read from a text although a tool was requested, and from a call although none was', async () => {
    expect(await generating([JSON.stringify(good)], { mode: 'tool' }).result).toMatchObject({ object: good })
    expect(await generating([emits(good)], prompted).result).toMatchObject({ object: good })
  })

  it.each<[string, unknown, RegExp]>([
    ['of a wrong type', { mood: 'good', score: '0.9' }, /score: expected number; got .*0\.9.* \(string\)/],
    ['outside an enumeration', { mood: 'fine', score: 1 }, /mood: expected one of .*good.*bad/],
    ['out of bounds', { mood: 'bad', score: 2 }, /score: expected at most 1/],
    ['without a required field', { mood: 'bad' }, /score: required field is missing/],
    ['with a field too many', { ...good, extra: 1 }, /extra: unknown field/],
    ['of a whole other kind', ['good'], /the whole: expected object/],
  ])('%s is sent back with the path and what was expected', async (_, wrong, words) => {
    const { model, result } = generating([emits(wrong), emits(good)], { mode: 'tool' })
    expect(await result).toMatchObject({
      object: good,
      repairAttempts: 1,
      usage: { inputTokens: 20, totalTokens: 30 },
    })
    const [, answer, problems] = model.requests[1]?.chatHistory ?? []
    expect(answer).toMatchObject({ role: 'assistant', content: [{ type: 'tool_call' }] })
    expect(problems).toMatchObject({ role: 'tool', content: [{ isError: true, toolName: 'emit_result' }] })
    expect(lastTexts(model.requests[1])).toMatch(words)
  })

  it.each([
    ['email', 'nobody', 'a@example.test'],
    ['date-time', 'yesterday', '2024-01-02T03:04:05Z'],
    ['uuid', '1', '6f1c2b1e-98a4-4c39-9f49-1b1c9f6d2f10'],
    ['uri', 'not a uri', 'https://example.test/a'],
  ])('must have the format %s', async (format, wrong, right) => {
    const schema = { type: 'object', required: ['v'], properties: { v: { type: 'string', format } } }
    const { model, result } = generating([emits({ v: wrong }), emits({ v: right })], { schema, mode: 'tool' })
    expect(await result).toMatchObject({ object: { v: right }, repairAttempts: 1 })
    expect(lastTexts(model.requests[1])).toContain(`expected the format ${format}`)
  })

  it('that calls more than once has every call answered', async () => {
    const twice: ScriptedStep = {
      toolCalls: [
        { name: 'other', args: {} },
        { name: 'emit_result', args: { mood: 'no' } },
      ],
    }
    const { model, result } = generating([twice, emits(good)], { mode: 'tool' })
    expect(await result).toMatchObject({ object: good })
    expect(model.requests[1]?.chatHistory.at(-1)).toMatchObject({
      content: [{ isError: true }, { isError: true }],
    })
  })

  it.each<[string, ScriptedStep]>([
    ['inside a value', { toolCalls: [{ name: 'emit_result', input: '{"mood":"go' }], finish: 'length' }],
    ['after a value', { toolCalls: [{ name: 'emit_result', input: '{"mood":"good"' }], finish: 'length' }],
    ['before it began', { text: '', finish: 'length' }],
  ])('cut off %s gets that message, and is never completed', async (_, step) => {
    const { model, result } = generating([step, emits(good)], { mode: 'tool' })
    expect(await result).toMatchObject({ object: good, repairAttempts: 1 })
    expect(lastTexts(model.requests[1])).toContain('cut off by the output limit')
    const last = await failureOf(generating([step], { mode: 'tool', maxRepairAttempts: 0 }).result)
    expect(last).toMatchObject({ code: 'object_invalid', truncated: true })
  })

  it('that is complete counts, although the output limit was reached after it', async () => {
    const step: ScriptedStep = { ...emits(good), finish: 'length' }
    expect(await generating([step], { mode: 'tool' }).result).toMatchObject({
      object: good,
      repairAttempts: 0,
    })
  })

  it('that is incomplete although the model reports the end is not completed either', async () => {
    const schema = { type: 'array', items: { type: 'string' } }
    const { model, result } = generating(['["a","b"', '["a","b","c"]'], { schema, mode: 'prompt' })
    expect(await result).toMatchObject({ object: ['a', 'b', 'c'], repairAttempts: 1 })
    expect(lastTexts(model.requests[1])).toContain('before every bracket is closed')
  })

  it('that is empty is requested again', async () => {
    const { model, result } = generating(['', JSON.stringify(good)], { mode: 'prompt' })
    expect(await result).toMatchObject({ repairAttempts: 1 })
    expect(lastTexts(model.requests[1])).toContain('empty')
  })
})

describe('when no answer fits', () => {
  it('it ends after the last repair with the problems and the usage', async () => {
    const wrong = emits({ mood: 'no', score: 1 })
    const { model, result } = generating([wrong, wrong, wrong, wrong], { mode: 'tool' })
    const error = await failureOf(result)
    expect(model.requests).toHaveLength(3)
    expect(error).toMatchObject({
      code: 'object_invalid',
      mode: 'tool',
      repairAttempts: 2,
      usage: { inputTokens: 30, outputTokens: 15, totalTokens: 45 },
      rawText: '{"mood":"no","score":1}',
      issues: [{ path: ['mood'], message: expect.stringContaining('expected one of') }],
    })
    expect(error.message).toMatch(/2 repair attempt\(s\) did not help[\s\S]*mood: expected one of/)
  })

  it('no repair is requested where none is allowed', async () => {
    const { model, result } = generating(['nonsense', 'never'], { mode: 'prompt', maxRepairAttempts: 0 })
    expect((await failureOf(result)).message).toContain('No repair was allowed')
    expect(model.requests).toHaveLength(1)
  })
})

describe('a request', () => {
  it.each<[Partial<ObjectRequest>, RegExp]>([
    [{ maxRepairAttempts: 6 }, /maxRepairAttempts must be an integer from 0 to 5, not 6/],
    [{ maxRepairAttempts: 0.5 }, /from 0 to 5/],
    [{ timeoutMs: 10 }, /timeoutMs must be an integer from 1000 to 600000, not 10/],
    [{ schemaName: 'a/b' }, /1 to 59 letters/],
    [{ mode: 'json' as never }, /auto, tool, prompt/],
    [{ prompt: '' }, /prompt is empty/],
    [{ schema: [] as never }, /not a JSON Schema/],
    [{ schema: { type: 'wrong' } }, /unknown type "wrong"/],
    [{ schema: { $ref: 'https://example.test/schema.json' } }, /points to nothing inside the schema/],
    [{ schema: { $ref: '#' } }, /refers to itself/],
    [{ schema: { description: 'x'.repeat(300_000) } }, /300018 characters of JSON; the maximum is 200000/],
    [{ schema: nested(100) }, /nested deeper than 64 levels/],
    [{ schema: { type: 'string', pattern: '(' } }, /pattern/],
  ])('with an invalid setting is rejected before anything is sent: %#', async (request, words) => {
    const { model, result } = generating(['never'], request)
    const error = await failureOf(result)
    expect(error.code).toBe('object_request_invalid')
    expect(error.message).toMatch(words)
    expect(model.requests).toHaveLength(0)
  })

  it('can be for a list, a single value, or one of several', async () => {
    const cases: [JsonSchema, unknown][] = [
      [{ type: 'array', items: { type: 'integer' } }, [1, 2]],
      [{ type: 'string', enum: ['a', 'b'] }, 'b'],
      [{ type: 'number' }, 0],
      [{ type: 'boolean' }, false],
      [{ type: ['string', 'null'] }, null],
      [
        {
          anyOf: [
            { type: 'object', properties: { value: { type: 'number' } }, required: ['value'] },
            { type: 'string' },
          ],
        },
        'x',
      ],
    ]
    for (const [schema, value] of cases) {
      const called = generating([emits({ value })], { schema, mode: 'tool' })
      expect((await called.result).object).toEqual(value)
      expect(called.model.requests[0]?.tools[0]?.parameters).toMatchObject({
        type: 'object',
        required: ['value'],
      })
      // A model that writes only the value is understood too.
      const alone = generating([{ toolCalls: [{ name: 'emit_result', input: JSON.stringify(value) }] }], {
        schema,
        mode: 'tool',
      })
      expect((await alone.result).object).toEqual(value)
      const prompted = generating([JSON.stringify(value)], { schema, mode: 'prompt' })
      expect((await prompted.result).object).toEqual(value)
    }
  })

  it('can have a schema that refers to itself', async () => {
    const tree = { name: 'a', children: [{ name: 'b', children: [] }] }
    const node = {
      type: 'object',
      required: ['name', 'children'],
      properties: { name: { type: 'string' }, children: { type: 'array', items: { $ref: '#' } } },
    }
    const wrong = { name: 'a', children: [{ name: 'b', children: [{ name: 1, children: [] }] }] }
    const self = generating([emits(wrong), emits(tree)], { schema: node, mode: 'tool' })
    expect((await self.result).object).toEqual(tree)
    expect(lastTexts(self.model.requests[1])).toContain('children[0].children[0].name: expected string')

    const defined = {
      $ref: '#/$defs/node',
      $defs: {
        node: {
          ...node,
          properties: { ...node.properties, children: { type: 'array', items: { $ref: '#/$defs/node' } } },
        },
      },
    }
    const called = generating([emits({ value: tree })], { schema: defined, mode: 'tool' })
    expect((await called.result).object).toEqual(tree)
    expect(called.model.requests[0]?.tools[0]?.parameters).toMatchObject({
      properties: { value: { $ref: '#/$defs/node' } },
      $defs: { node: { type: 'object' } },
    })
  })

  it('cannot block the host with an exponential pattern', async () => {
    const schema = { type: 'string', pattern: '^(a+)+$' }
    const error = await failureOf(
      generating([JSON.stringify(`${'a'.repeat(60)}!`)], { schema, mode: 'prompt', maxRepairAttempts: 0 })
        .result,
    )
    expect(error.message).toContain('expected text that matches ^(a+)+$')
  })
})

describe('a check of the caller', () => {
  it('decides instead of the schema, its problems reach the model, and it can convert the value', async () => {
    const { model, result } = generating(
      [emits({ mood: 'bad', score: 1 }), emits(good)],
      { mode: 'tool' },
      {
        check: async (value) =>
          JSON.stringify(value).includes('bad')
            ? { ok: false, problems: [{ path: ['mood'], message: 'be kinder' }] }
            : { ok: true, value: new Map([['converted', value]]) },
      },
    )
    expect((await result).object).toEqual(new Map([['converted', good]]))
    expect(lastTexts(model.requests[1])).toContain('mood: be kinder')
  })
})

describe('the end of a request', () => {
  it('comes when the caller aborts, with the reason', async () => {
    const stop = new AbortController()
    const { result } = generating(
      [{ text: '{"mood"', hang: true }],
      { mode: 'prompt' },
      {
        signal: stop.signal,
        onPartial: () => stop.abort(new Error('enough')),
      },
    )
    await expect(result).rejects.toThrow('enough')
  })

  it('comes without further partial objects, when the rest was received together with the first', async () => {
    const stop = new AbortController()
    const partials: unknown[] = []
    let now = 0
    const { result } = generating(
      [],
      { mode: 'prompt' },
      {
        signal: stop.signal,
        now: () => (now += 100),
        ask: (_, signal, hear) => {
          for (const text of ['{"mo', 'od":"go', 'od",']) hear({ text })
          return Promise.reject(signal.reason)
        },
        onPartial: ({ value }) => {
          partials.push(value)
          stop.abort(new Error('enough'))
        },
      },
    )
    await expect(result).rejects.toThrow('enough')
    expect(partials).toEqual([{}])
  })

  it('comes when its time is up, with a model that ignores the signal', async () => {
    const error = await failureOf(
      generating([], { timeoutMs: 1000 }, { ask: () => new Promise(() => undefined) }).result,
    )
    expect(error).toMatchObject({ code: 'object_timeout', repairAttempts: 0 })
    expect(error.message).toContain('within 1000 ms')
  })
})

describe('partial objects', () => {
  it('start again with each repair, and end with the object', async () => {
    const partials: PartialObject[] = []
    let now = 0
    const first: ScriptedStep = {
      toolCalls: [{ name: 'emit_result', args: { mood: 'no', score: 1 } }],
      deltas: 6,
    }
    const second: ScriptedStep = { toolCalls: [{ name: 'emit_result', args: good }], deltas: 6 }
    await generating(
      [first, second],
      { mode: 'tool' },
      {
        now: () => (now += 100),
        onPartial: (partial) => void partials.push(partial),
      },
    ).result
    expect(partials[0]).toEqual({ value: {}, repairAttempt: 0 })
    expect(partials.findLast(({ repairAttempt }) => repairAttempt === 0)?.value).toEqual({
      mood: 'no',
      score: 1,
    })
    expect(partials.find(({ repairAttempt }) => repairAttempt === 1)?.value).toEqual({})
    expect(partials.at(-1)).toEqual({ value: good, repairAttempt: 1 })
  })
})

function nested(levels: number): JsonSchema {
  return levels === 0 ? { type: 'string' } : { type: 'array', items: nested(levels - 1) }
}
