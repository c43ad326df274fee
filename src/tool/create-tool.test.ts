import { type } from 'arktype'
import fc from 'fast-check'
import * as v from 'valibot'
import { describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { createTool } from './create-tool.js'
import { errorEnvelope, isEnvelope, outputEnvelope } from './envelope.js'
import { ToolInputError, ToolOutputError } from './validation.js'

const weather = createTool({
  name: 'weather',
  description: 'The weather of a city.',
  input: z.object({ city: z.string().min(1), days: z.number().int().default(1) }),
  execute: ({ city, days }) => ({ city, days, sky: 'clear' }),
})

describe('createTool', () => {
  it('satisfies the typed API: name, definition, call', async () => {
    expect(weather.name).toBe('weather')
    expect(await weather.definition('')).toEqual({
      name: 'weather',
      description: 'The weather of a city.',
      parameters: weather.parameters,
    })
    expect(await weather.call({ city: 'Oslo', days: 2 })).toEqual({ city: 'Oslo', days: 2, sky: 'clear' })
  })

  it('satisfies the governed contract: id, description, parameters, requires, execute', async () => {
    expect(weather).toMatchObject({
      id: 'weather',
      description: 'The weather of a city.',
      requires: {},
      kind: 'other',
      idempotent: false,
    })
    expect(await weather.execute({ city: 'Oslo' })).toMatchObject({
      type: 'output',
      data: { city: 'Oslo', days: 1 },
    })
  })

  it('exposes the governed options unchanged', () => {
    const tool = createTool({
      name: 'fetch_page',
      description: 'Fetch a page.',
      input: z.object({ url: z.url() }),
      requires: { net: { hosts: ['example.com'] } },
      kind: 'fetch',
      limits: { maxBytes: 200_000 },
      idempotent: true,
      touches: ({ url }) => [{ net: new URL(url).host }],
      approval: { when: () => true },
      execute: ({ url }) => url,
    })
    expect(tool).toMatchObject({
      requires: { net: { hosts: ['example.com'] } },
      kind: 'fetch',
      limits: { maxBytes: 200_000 },
      idempotent: true,
    })
    expect(tool.touches({ url: 'https://example.com/a' })).toEqual([{ net: 'example.com' }])
    expect(tool.approval).toBeDefined()
  })

  it('publishes frozen copies', () => {
    const requires = { fs: { read: ['{workspace}/**'] } }
    const tool = createTool({ name: 't', description: 'd', input: z.object({}), requires, execute: () => 1 })
    requires.fs.read.push('/etc/**')
    expect(tool.requires).toEqual({ fs: { read: ['{workspace}/**'] } })
  })

  it('removes hostile keys before the tool gets them', async () => {
    const tool = createTool({
      name: 't',
      description: 'd',
      input: z.object({ o: z.any() }),
      execute: ({ o }) => Reflect.ownKeys(o as object),
    })
    expect(await tool.execute(JSON.parse('{"o":{"__proto__":{"polluted":true}}}'))).toMatchObject({
      data: [],
    })
  })

  it('has an approval only when one was given, and never shows it to the model', async () => {
    expect(Object.hasOwn(weather, 'approval')).toBe(false)
    const guarded = createTool({
      name: 'g',
      description: 'd',
      input: z.object({}),
      approval: { when: () => true, reason: 'secret reason' },
      execute: () => 1,
    })
    expect(JSON.stringify(await guarded.definition(''))).not.toContain('secret reason')
  })

  it('has the same definition for every prompt', async () => {
    expect(await weather.definition('a')).toBe(await weather.definition('b'))
  })

  it('rejects invalid names and kinds', () => {
    const make = (options: object): unknown =>
      createTool({ name: 'ok', description: 'd', input: z.object({}), execute: () => 1, ...options } as never)
    for (const name of ['', 'has space', 'ünï', 'x'.repeat(129), 3])
      expect(() => make({ name })).toThrow(/A tool's name is/)
    expect(() => make({ kind: 'sing' })).toThrow(/unknown kind "sing"/)
    expect(() => make({ description: undefined })).toThrow(/needs a description/)
    expect(() => make({ input: { type: 'object' } })).toThrow(/use createJsonTool/)
  })
})

describe('the schema a model sees', () => {
  it('is the input view: a field with a default is optional', () => {
    expect(weather.parameters).toEqual({
      type: 'object',
      properties: {
        city: { type: 'string', minLength: 1 },
        days: { default: 1, type: 'integer', minimum: expect.any(Number), maximum: expect.any(Number) },
      },
      required: ['city'],
    })
  })

  it('cannot be changed by its readers', async () => {
    const { parameters } = await weather.definition('')
    expect(() => {
      ;(parameters['properties'] as Record<string, unknown>)['city'] = 'gone'
    }).toThrow(TypeError)
  })

  it.each([
    ['a date', z.object({ at: z.date() })],
    ['a bigint', z.object({ n: z.bigint() })],
    ['a map', z.object({ m: z.map(z.string(), z.string()) })],
    ['something custom', z.object({ c: z.custom<URL>(() => true) })],
  ])('must exist: %s throws when the tool is created', (_, input) => {
    expect(() => createTool({ name: 'bad', description: 'd', input, execute: () => 1 })).toThrow(
      /input schema of tool "bad" has no JSON Schema form/,
    )
  })

  it('must be an object', () => {
    expect(() => createTool({ name: 'bad', description: 'd', input: z.string(), execute: () => 1 })).toThrow(
      /must be an object, its schema says "string"/,
    )
  })

  it('supports transforms, which only change what the tool gets', async () => {
    const tool = createTool({
      name: 'len',
      description: 'd',
      input: z.object({ text: z.string().transform((text) => text.length) }),
      execute: ({ text }) => text,
    })
    expect(tool.parameters).toMatchObject({ properties: { text: { type: 'string' } } })
    expect(await tool.execute({ text: 'four' })).toMatchObject({ data: 4 })
  })
})

describe('call', () => {
  it('throws when the arguments do not fit', async () => {
    const error = await weather.call({ city: 3 } as never).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ToolInputError)
    expect(error).toMatchObject({ issues: [{ path: ['city'] }], cause: [{ code: 'invalid_type' }] })
  })

  it('rethrows what the tool throws, unwrapped', async () => {
    const boom = new RangeError('boom')
    const tool = createTool({
      name: 't',
      description: 'd',
      input: z.object({}),
      execute: () => {
        throw boom
      },
    })
    await expect(tool.call({})).rejects.toBe(boom)
  })

  it('throws when the result does not fit the output schema', async () => {
    const tool = createTool({
      name: 't',
      description: 'd',
      input: z.object({}),
      output: z.object({ n: z.number() }),
      execute: () => ({ n: 'x' }) as never,
    })
    await expect(tool.call({})).rejects.toBeInstanceOf(ToolOutputError)
    await expect(tool.call({})).rejects.toThrow(
      'Tool "t" returned a result that does not fit its output schema at n',
    )
  })

  it('returns the result parsed by the output schema: undeclared fields removed, transforms applied', async () => {
    const tool = createTool({
      name: 't',
      description: 'd',
      input: z.object({}),
      output: z.object({ n: z.string().transform(Number) }),
      execute: () => ({ n: '7', secret: 'x' }),
    })
    expect(await tool.call({})).toEqual({ n: 7 })
  })

  it('passes an empty context to a tool called without one', async () => {
    const execute = vi.fn(() => 1)
    await createTool({ name: 't', description: 'd', input: z.object({}), execute }).call({})
    expect(execute).toHaveBeenCalledWith({}, {})
  })

  it('returns the data of an envelope that the tool returned, or throws its text', async () => {
    const tool = createTool({
      name: 't',
      description: 'd',
      input: z.object({ fail: z.boolean() }),
      execute: ({ fail }) =>
        fail ? errorEnvelope('it failed') : outputEnvelope('it worked', { exit_code: 0 }),
    })
    expect(await tool.call({ fail: false })).toBe('it worked')
    await expect(tool.call({ fail: true })).rejects.toThrow('it failed')
  })
})

describe('execute', () => {
  const text = async (
    args: unknown,
    tool = weather as { execute(args: unknown): Promise<unknown> },
  ): Promise<string> => {
    const envelope = (await tool.execute(args)) as { type: string; error_text: string }
    expect(envelope.type).toBe('error')
    return envelope.error_text
  }

  it('names the field, what was expected and what was received', async () => {
    expect(await text({ city: 3 })).toBe(
      'Invalid arguments for tool "weather":\n- city: Invalid input: expected string, received number; got 3 (number)\nCorrect them and call "weather" again.',
    )
    expect(await text({})).toContain(
      '- city: Invalid input: expected string, received undefined; got nothing',
    )
    expect(await text({ city: 'Oslo', days: 1.5 })).toContain(
      '- days: Invalid input: expected int, received number; got 1.5 (number)',
    )
    expect(await text('Oslo')).toContain(
      '- the arguments: Invalid input: expected object, received string; got "Oslo" (string)',
    )
  })

  it('names places inside lists and objects', async () => {
    const tool = createTool({
      name: 't',
      description: 'd',
      input: z.object({ items: z.array(z.object({ 'a b': z.number() })) }),
      execute: () => 1,
    })
    expect(await text({ items: [{ 'a b': 1 }, { 'a b': 'x' }] }, tool)).toContain('- items[1]["a b"]: ')
  })

  it('explains a union by the shape that was most likely intended', async () => {
    const tool = createTool({
      name: 't',
      description: 'd',
      input: z.object({
        when: z.union([z.object({ at: z.string() }), z.object({ every: z.object({ minutes: z.number() }) })]),
      }),
      execute: () => 1,
    })
    expect(await text({ when: { every: { minutes: 'ten' } } }, tool)).toContain(
      '- when.every.minutes: Invalid input: expected number, received string; got "ten" (string)',
    )
    const choice = createTool({
      name: 'c',
      description: 'd',
      input: z.object({ id: z.union([z.string(), z.number()]) }),
      execute: () => 1,
    })
    expect(await text({ id: true }, choice)).toContain(
      '- id: Invalid input: expected string, received boolean; or Invalid input: expected number, received boolean; got true',
    )
  })

  it('keeps the message short for every input', async () => {
    const tool = createTool({
      name: 't',
      description: 'd',
      input: z.object({ list: z.array(z.number()) }),
      execute: () => 1,
    })
    const long = await text({ list: Array.from({ length: 10_000 }, () => 'x'.repeat(1000)) }, tool)
    expect(long.length).toBeLessThan(2500)
    expect(long).toContain('- and 9992 more')
  })

  it('measures with the given clock', async () => {
    let time = 100
    const tool = createTool({
      name: 't',
      description: 'd',
      input: z.object({}),
      execute: () => {
        time += 25
        return 'x'
      },
    })
    expect((await tool.execute({}, { now: () => time })).metadata.duration_ms).toBe(25)
  })

  it('turns what the tool throws into an envelope: an error, anything else, a rejection', async () => {
    const thrower = (thrown: unknown): Promise<unknown> =>
      createTool({
        name: 't',
        description: 'd',
        input: z.object({}),
        execute: async () => {
          throw thrown
        },
      }).execute({})
    expect(await thrower(new Error('boom'))).toMatchObject({ type: 'error', error_text: 'boom' })
    expect(await thrower('plain text')).toMatchObject({ type: 'error', error_text: 'plain text' })
    expect(await thrower(undefined)).toMatchObject({
      type: 'error',
      error_text: 'an error that carries no message',
    })
  })

  it('keeps the metadata of an envelope that the tool returned, and measures the duration itself', async () => {
    const tool = createTool({
      name: 't',
      description: 'd',
      input: z.object({}),
      execute: () => outputEnvelope('x', { exit_code: 2, duration_ms: 999 }),
    })
    expect(await tool.execute({}, { now: () => 0 })).toEqual({
      type: 'output',
      data: 'x',
      metadata: { exit_code: 2, duration_ms: 0 },
    })
  })

  it('accepts a hand-written envelope without the metadata that only the runtime can set', async () => {
    const forged = {
      type: 'output' as const,
      data: 'x',
      metadata: { duration_ms: 0, exit_code: 1, output_path: '/etc/shadow' },
    }
    const tool = createTool({ name: 't', description: 'd', input: z.object({}), execute: () => forged })
    expect(await tool.execute({}, { now: () => 0 })).toEqual({
      type: 'output',
      data: 'x',
      metadata: { duration_ms: 0, exit_code: 1 },
    })
    const failed = createTool({
      name: 't',
      description: 'd',
      input: z.object({}),
      execute: () => ({ type: 'error', error_text: 'no', metadata: { duration_ms: 1 } }),
    })
    expect(await failed.execute({})).toMatchObject({ type: 'error', error_text: 'no' })
  })

  it('returns null for a tool that returns nothing, so that the envelope survives JSON', async () => {
    const tool = createTool({ name: 't', description: 'd', input: z.object({}), execute: () => undefined })
    expect(isEnvelope(JSON.parse(JSON.stringify(await tool.execute({}))))).toBe(true)
    expect(await tool.call({})).toBeUndefined()
  })

  it('returns an error envelope even when the error has no text', async () => {
    const tool = createTool({
      name: 't',
      description: 'd',
      input: z.object({}),
      execute: () => errorEnvelope(undefined as never),
    })
    expect(await tool.execute({})).toMatchObject({
      type: 'error',
      error_text: 'an error that carries no message',
    })
  })

  it('never throws, even when the error or the clock itself throws', async () => {
    const hostile = Object.defineProperty(new Error('x'), 'message', {
      get: () => {
        throw new Error('gotcha')
      },
    })
    const tool = createTool({
      name: 't',
      description: 'd',
      input: z.object({}),
      execute: () => {
        throw hostile
      },
    })
    expect(await tool.execute({})).toMatchObject({
      type: 'error',
      error_text: 'an error that carries no message',
    })
    expect(
      await tool.execute(
        {},
        {
          now: () => {
            throw new Error('no time')
          },
        },
      ),
    ).toMatchObject({ type: 'error', error_text: 'no time' })
    const quota = createTool({
      name: 't',
      description: 'd',
      input: z.object({}),
      execute: () => {
        throw { message: 'quota' }
      },
    })
    expect(await quota.execute({})).toMatchObject({ error_text: 'quota' })
  })

  it('does not start once the run is aborted', async () => {
    const execute = vi.fn(() => 1)
    const tool = createTool({ name: 't', description: 'd', input: z.object({}), execute })
    expect(await tool.execute({}, { signal: AbortSignal.abort() })).toMatchObject({
      type: 'error',
      error_text: 'Tool "t" was not run: the run was aborted.',
    })
    expect(execute).not.toHaveBeenCalled()
  })

  it('passes its context to the tool', async () => {
    const controller = new AbortController()
    const execute = vi.fn(() => 1)
    const context = {
      signal: controller.signal,
      toolCallId: 'c1',
      progress: vi.fn(),
      emitStreamEvent: vi.fn(),
    }
    await createTool({ name: 't', description: 'd', input: z.object({}), execute }).execute({}, context)
    expect(execute).toHaveBeenCalledWith({}, context)
  })

  it('never throws, whatever the arguments are', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.anything({
          withBigInt: true,
          withDate: true,
          withMap: true,
          withNullPrototype: true,
          withTypedArray: true,
        }),
        async (args) => {
          expect(['output', 'error']).toContain((await weather.execute(args)).type)
        },
      ),
    )
  })

  it('returns an envelope when the schema itself throws', async () => {
    const tool = createTool({
      name: 't',
      description: 'd',
      input: z.object({
        a: z.string().refine(() => {
          throw new Error('refine broke')
        }),
      }),
      execute: () => 1,
    })
    expect(await text({ a: 'x' }, tool)).toBe('The arguments of tool "t" could not be checked: refine broke')
  })

  it('returns an envelope when the tool’s touches() throws', async () => {
    const tool = createTool({
      name: 't',
      description: 'd',
      input: z.object({}),
      touches: () => {
        throw new Error('no idea')
      },
      execute: () => 1,
    })
    expect(await text({}, tool)).toContain('no idea')
  })
})

describe('prepare', () => {
  it('checks once: the value that is judged and approved is the value that runs', async () => {
    const transform = vi.fn((text: string) => ({ text }))
    const execute = vi.fn(() => 'done')
    const tool = createTool({
      name: 't',
      description: 'd',
      input: z.object({ a: z.string().transform(transform) }),
      touches: ({ a }) => [{ fs: 'read', path: a.text }],
      execute,
    })
    const prepared = await tool.prepare({ a: 'x' })
    if (!prepared.ok) throw new Error('refused')
    expect(prepared.subjects).toEqual([{ fs: 'read', path: 'x' }])
    expect(await prepared.run()).toMatchObject({ type: 'output', data: 'done' })
    expect(transform).toHaveBeenCalledOnce()
    expect((execute.mock.calls as unknown[][])[0]?.[0]).toBe(prepared.args)
  })

  it('is synchronous when the schema is, and asynchronous when it is not', async () => {
    expect(weather.prepare({ city: 'Oslo' })).not.toBeInstanceOf(Promise)
    const tool = createTool({
      name: 't',
      description: 'd',
      input: z.object({ a: z.string().refine(async (a) => a === 'yes') }),
      execute: ({ a }) => a,
    })
    expect(tool.prepare({ a: 'yes' })).toBeInstanceOf(Promise)
    expect(await tool.execute({ a: 'yes' })).toMatchObject({ type: 'output', data: 'yes' })
    expect(await tool.execute({ a: 'no' })).toMatchObject({ type: 'error' })
    await expect(tool.call({ a: 'no' })).rejects.toBeInstanceOf(ToolInputError)
    expect(() => tool.parseApprovalArgs({ a: 'yes' })).toThrow(/did not answer at once: use prepare/)
  })

  it('offers parseApprovalArgs to callers that need only the arguments', () => {
    expect(weather.parseApprovalArgs({ city: 'Oslo' })).toEqual({ city: 'Oslo', days: 1 })
    expect(() => weather.parseApprovalArgs({})).toThrow(ToolInputError)
  })
})

describe('schemas of other libraries', () => {
  it('ArkType converts its schema to JSON Schema itself', async () => {
    const tool = createTool({
      name: 't',
      description: 'd',
      input: type({ name: 'string', 'age?': 'number' }),
      execute: ({ name }) => name.length,
    })
    expect(tool.parameters).toEqual({
      type: 'object',
      properties: { name: { type: 'string' }, age: { type: 'number' } },
      required: ['name'],
    })
    expect(await tool.execute({ name: 'Ada' })).toMatchObject({ data: 3 })
    expect(await tool.execute({ name: 3 })).toMatchObject({
      error_text: expect.stringContaining('- name: name must be a string (was a number); got 3 (number)'),
    })
  })

  const schema = v.object({ name: v.pipe(v.string(), v.minLength(2)) })
  it('Valibot needs the JSON Schema as "parameters"', async () => {
    const tool = createTool({
      name: 't',
      description: 'd',
      input: schema,
      parameters: {
        type: 'object',
        properties: { name: { type: 'string', minLength: 2 } },
        required: ['name'],
      },
      execute: ({ name }) => name.toUpperCase(),
    })
    expect(await tool.execute({ name: 'ada' })).toMatchObject({ data: 'ADA' })
    expect(await tool.execute({ name: 'a' })).toMatchObject({
      type: 'error',
      error_text: expect.stringContaining('- name: '),
    })
  })

  it('Valibot without "parameters" gets an error that says what to do', () => {
    expect(() => createTool({ name: 't', description: 'd', input: schema, execute: () => 1 })).toThrow(
      /input schema of tool "t" \(valibot\) cannot be converted to JSON Schema. Pass its JSON Schema as "parameters"/,
    )
  })
})
