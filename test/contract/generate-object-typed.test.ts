import * as v from 'valibot'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { ObjectGenerationError } from '../../src/model/object/errors.js'
import { scriptedModel } from '../../src/testing/index.js'
import type { JsonObject } from '../../src/tool/json.js'
import { bodyOf, openSession, toolResults } from './open-session.js'

const moods = z.object({ mood: z.enum(['good', 'bad']), score: z.number().min(0).max(1) })
const good = { mood: 'good', score: 0.9 }

function emits(args: JsonObject): { toolCalls: { name: string; args: JsonObject }[]; usage: JsonObject } {
  return { toolCalls: [{ name: 'emit_result', args }], usage: { inputTokens: 10, outputTokens: 5 } }
}

describe('session.generateObject', () => {
  it('returns a value with the type of its schema', async () => {
    const { server, session } = await openSession([emits(good)])
    const result = await session.generateObject(moods, 'Classify: "Amazing!"')
    expectTypeOf(result.object).toEqualTypeOf<{ mood: 'good' | 'bad'; score: number }>()
    expect(result).toMatchObject({
      object: good,
      mode: 'tool',
      repairAttempts: 0,
      rawText: JSON.stringify(good),
    })
    expect(result.usage.totalTokens).toBeGreaterThan(0)
    expect(JSON.stringify(bodyOf(server, 0))).toContain('"emit_result"')
  })

  it('validates with the schema itself: what it rejects beyond its JSON Schema is repaired, and its transforms apply', async () => {
    const even = z.object({
      n: z.number().refine((n) => n % 2 === 0, 'must be even'),
      at: z.string().transform((text) => text.length),
      note: z.string().default('none'),
    })
    const { server, session } = await openSession([emits({ n: 3, at: 'abc' }), emits({ n: 4, at: 'abc' })])
    const { object, repairAttempts, usage } = await session.generateObject(even, {
      prompt: 'Give one.',
      mode: 'tool',
    })
    expectTypeOf(object.at).toEqualTypeOf<number>()
    expect(object).toEqual({ n: 4, at: 3, note: 'none' })
    expect(repairAttempts).toBe(1)
    expect(usage).toMatchObject({ promptTokens: 20, completionTokens: 10, totalTokens: 30 })
    expect(toolResults(server, 1)[0]).toContain('n: must be even; got 3')
  })

  it('accepts a list schema of a library and a JSON Schema', async () => {
    const { session } = await openSession([emits({ value: ['a'] }), emits({ value: 3 })])
    const list = await session.generateObject(z.array(z.string()), { prompt: 'x', mode: 'tool' })
    expectTypeOf(list.object).toEqualTypeOf<string[]>()
    expect(list.object).toEqual(['a'])
    const plain = await session.generateObject({ type: 'integer' }, { prompt: 'x', mode: 'tool' })
    expectTypeOf(plain.object).toBeUnknown()
    expect(plain.object).toBe(3)
  })

  it('accepts a schema that refers to itself', async () => {
    type Node = { name: string; children: Node[] }
    const node: z.ZodType<Node> = z.object({
      name: z.string(),
      get children() {
        return z.array(node)
      },
    })
    const tree = { name: 'a', children: [{ name: 'b', children: [] }] }
    const { session } = await openSession([emits(tree)])
    expect((await session.generateObject(node, { prompt: 'x', mode: 'tool' })).object).toEqual(tree)
  })

  it('accepts a library that cannot produce JSON Schema with one next to it, and reports an error without it', async () => {
    const { session } = await openSession([emits({ n: 1 })])
    const schema = v.object({ n: v.number() })
    await expect(session.generateObject(schema, 'x')).rejects.toThrow(/valibot[\s\S]*option jsonSchema/)
    const jsonSchema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }
    const { object } = await session.generateObject(schema, { prompt: 'x', mode: 'tool', jsonSchema })
    expectTypeOf(object).toEqualTypeOf<{ n: number }>()
    expect(object).toEqual({ n: 1 })
  })

  it('throws an error with each problem and its path', async () => {
    const { session } = await openSession([emits({ mood: 'odd', score: 0 })])
    const error: unknown = await session
      .generateObject(moods, { prompt: 'x', mode: 'tool', maxRepairAttempts: 0 })
      .catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ObjectGenerationError)
    expect(error).toMatchObject({
      code: 'object_invalid',
      issues: [{ path: ['mood'] }],
      rawText: '{"mood":"odd","score":0}',
    })
  })

  it('emits partial objects and ends when its caller aborts', async () => {
    const stop = new AbortController()
    const { session } = await openSession([{ text: '{"mood":"good","score":0.9}', stall: 4, deltas: 5 }])
    const partials: unknown[] = []
    const asking = session.generateObject(moods, {
      prompt: 'x',
      signal: stop.signal,
      onPartial: ({ value }) => {
        partials.push(value)
        stop.abort(new Error('seen enough'))
      },
    })
    await expect(asking).rejects.toThrow('seen enough')
    expect(partials).toEqual([{}])
  })

  it('ends when the session is closed, and is rejected afterwards', async () => {
    const { server, session } = await openSession([{ text: '{}', stall: true }])
    const asking = session.generateObject(moods, 'x')
    const failed = expect(asking).rejects.toThrow(/closed/)
    await server.request(0)
    await session.close()
    await failed
    await expect(session.generateObject(moods, 'x')).rejects.toThrow(/Session closed/)
  })

  it('needs no tools of the model, nor of the session', async () => {
    const model = scriptedModel([JSON.stringify(good)], { facts: { tools: false, structuredOutput: false } })
    const { session } = await openSession([], { model, builtinTools: false })
    expect(await session.generateObject(moods, 'x')).toMatchObject({ object: good, mode: 'prompt' })
    expect(model.requests[0]).toMatchObject({ tools: [] })
  })

  it('redacts keys of the configuration from its result', async () => {
    const { session } = await openSession([emits({ a: 'the test-key' })])
    const { object, rawText } = await session.generateObject(z.object({ a: z.string() }), {
      prompt: 'x',
      mode: 'tool',
    })
    expect(JSON.stringify([object, rawText])).not.toContain('test-key')
  })

  it('is counted in the usage of the session', async () => {
    const { session } = await openSession([emits(good), emits(good)])
    await session.generateObject(moods, { prompt: 'x', mode: 'tool' })
    await session.generateObject(moods, { prompt: 'x', mode: 'tool' })
    expect((await session.send('/cost')).text).toContain('30')
  })
})
