import { describe, expect, it } from 'vitest'
import { ObjectGenerationError } from '../model/object/errors.js'
import type { GeneratedObject, ObjectRequest, RuntimeObjects } from '../model/object/object-request.js'
import { toToolResult } from '../tool/tool-result.js'
import { generateObjectTool } from './generate-object.js'

const made: GeneratedObject = {
  object: { mood: 'good' },
  mode: 'tool',
  repairAttempts: 1,
  usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 },
  rawText: '{"mood":"good"}',
}

function lending(generate: RuntimeObjects['generate']): {
  runtime: { session: { objects: RuntimeObjects } }
} {
  return { runtime: { session: { objects: { generate } } } }
}

const args = { schema: { type: 'object' }, prompt: 'Classify.' }

describe('generate_object', () => {
  it('takes few bytes of every request', () => {
    expect(JSON.stringify(generateObjectTool.definition()).length).toBeLessThan(700)
  })

  it('returns the object as JSON, and how it was created as metadata', async () => {
    const asked: ObjectRequest[] = []
    const envelope = await generateObjectTool.execute(
      {
        ...args,
        schema_name: 'sentiment',
        schema_description: 'A mood.',
        system: 'Be terse.',
        mode: 'tool',
        max_repair_attempts: 5,
        timeout_ms: 1000,
        include_raw_text: true,
      },
      lending(async (request) => {
        asked.push(request)
        return made
      }),
    )
    const result = toToolResult('generate_object', envelope)
    expect(JSON.parse(result.output)).toEqual({
      object: { mood: 'good' },
      repair_attempts: 1,
      mode_used: 'tool',
      raw_text: '{"mood":"good"}',
    })
    expect(JSON.parse(result.metadataJson ?? '')).toMatchObject({
      schema_name: 'sentiment',
      mode_used: 'tool',
      repair_attempts: 1,
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    })
    expect(asked).toEqual([
      {
        ...args,
        schemaName: 'sentiment',
        schemaDescription: 'A mood.',
        system: 'Be terse.',
        mode: 'tool',
        maxRepairAttempts: 5,
        timeoutMs: 1000,
      },
    ])
  })

  it('omits the model’s text unless it is requested', async () => {
    const envelope = await generateObjectTool.execute(
      args,
      lending(async () => made),
    )
    expect(toToolResult('generate_object', envelope).output).not.toContain('raw_text')
  })

  it('reports partial objects, and in which repair they were written', async () => {
    const reported: unknown[] = []
    await generateObjectTool.execute(args, {
      ...lending(async (_, options) => {
        options?.onPartial?.({ value: { mood: 'g' }, repairAttempt: 0 })
        options?.onPartial?.({ value: {}, repairAttempt: 1 })
        return made
      }),
      progress: (partial) => void reported.push(partial),
    })
    expect(reported).toEqual([{ object_partial: { mood: 'g' } }, { object_partial: {}, repair_attempt: 1 }])
  })

  it.each([
    [{ max_repair_attempts: 6 }, /max_repair_attempts: expected at most 5/],
    [{ max_repair_attempts: -1 }, /max_repair_attempts: expected at least 0/],
    [{ max_repair_attempts: 1.5 }, /max_repair_attempts: expected integer/],
    [{ timeout_ms: 999 }, /timeout_ms: expected at least 1000/],
    [{ timeout_ms: 600_001 }, /timeout_ms: expected at most 600000/],
    [{ mode: 'json' }, /mode: expected one of "auto", "tool", "prompt"/],
    [{ schema_name: 'a b' }, /schema_name/],
    [{ prompt: ' ' }, /prompt/],
    [{ schema: 'string' }, /schema: expected object/],
    [{ wrong: 1 }, /wrong: unknown field/],
  ])('rejects %j and names the limit', async (more, words) => {
    const envelope = await generateObjectTool.execute(
      { ...args, ...more },
      lending(async () => made),
    )
    expect(envelope).toMatchObject({ type: 'error', error_text: expect.stringMatching(words) })
  })

  it('returns the last problems when no answer matched, with the raw text if that was requested', async () => {
    const never = lending(async () => {
      throw new ObjectGenerationError('object_invalid', 'It does not fit.', {
        issues: [{ path: ['mood'], message: 'expected string' }],
        mode: 'tool',
        repairAttempts: 2,
        usage: made.usage,
        rawText: '{"mood":1}',
      })
    })
    const envelope = await generateObjectTool.execute({ ...args, include_raw_text: true }, never)
    expect(envelope).toMatchObject({
      type: 'error',
      error_text: 'It does not fit.\n\nIts last answer was:\n{"mood":1}',
      metadata: {
        error_code: 'object_invalid',
        repair_attempts: 2,
        mode_used: 'tool',
        issues: [{ path: ['mood'], message: 'expected string' }],
      },
    })
    expect(await generateObjectTool.execute(args, never)).toMatchObject({ error_text: 'It does not fit.' })
  })

  it('names what is missing when no session provides its model', async () => {
    expect(await generateObjectTool.execute(args, {})).toMatchObject({
      error_text: expect.stringContaining('provides no session'),
    })
    expect(await generateObjectTool.execute(args, { runtime: { session: {} } })).toMatchObject({
      error_text: expect.stringContaining('session.objects'),
    })
  })
})
