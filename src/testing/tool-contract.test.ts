import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createJsonTool } from '../tool/create-json-tool.js'
import { createTool } from '../tool/create-tool.js'
import { recordToolCall } from './record-tool-call.js'
import { checkToolContract } from './tool-contract.js'

const good = createTool({
  name: 'good',
  description: 'Good.',
  input: z.object({ path: z.string() }),
  execute: ({ path }) => path,
})

describe('checkToolContract', () => {
  it('finds nothing wrong with a good tool', async () => {
    expect(await checkToolContract(good, { valid: [{ path: 'a' }], invalid: [{}, { path: 3 }] })).toEqual([])
  })

  it('runs nothing', async () => {
    let ran = false
    const tool = createTool({
      name: 't',
      description: 'd',
      input: z.object({}),
      execute: () => {
        ran = true
      },
    })
    await checkToolContract(tool, { valid: [{}] })
    expect(ran).toBe(false)
  })

  it.each([
    [
      'an empty description',
      createTool({ name: 't', description: ' ', input: z.object({}), execute: () => 1 }),
      {},
      'its description is empty',
    ],
    [
      'a union at the top',
      createTool({
        name: 't',
        description: 'd',
        input: z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]),
        execute: () => 1,
      }),
      { valid: [{ a: 'x' }] },
      'its parameters have "anyOf" at the top, which several providers reject',
    ],
    ['a sample it should accept', good, { valid: [{}] }, 'it rejects {}, which should be valid'],
    [
      'a sample it should reject',
      good,
      { invalid: [{ path: 'x' }] },
      'it accepts {"path":"x"}, which should be invalid',
    ],
    [
      'arguments that are changed',
      createTool({
        name: 't',
        description: 'd',
        input: z.object({ list: z.any() }),
        touches: ({ list }) => {
          ;(list as number[]).push(1)
          return []
        },
        execute: () => 1,
      }),
      { valid: [{ list: [] }] },
      'it changed its arguments',
    ],
    [
      'no definition',
      {
        name: 't',
        definition: () => {
          throw new Error('gone')
        },
        call: () => 1,
      },
      {},
      'its definition failed: gone',
    ],
    [
      'a definition of another name',
      { name: 't', definition: () => ({ name: 'u', description: 'd', parameters: {} }), call: () => 1 },
      {},
      'its id, name and definition disagree',
    ],
    [
      'touches that throw',
      createJsonTool({
        name: 't',
        description: 'd',
        parameters: {},
        touches: () => {
          throw new Error('lost')
        },
        execute: () => 1,
      }),
      { valid: [{}] },
      'lost',
    ],
  ])('finds %s', async (_, tool, samples, problem) => {
    const problems = await checkToolContract(tool, { valid: [], ...samples })
    expect(problems).toEqual([expect.stringContaining(problem)])
  })
})

describe('recordToolCall', () => {
  it('records what a tool reports, and stops it', async () => {
    const call = recordToolCall({ toolCallId: 'c1' })
    const tool = createTool({
      name: 't',
      description: 'd',
      input: z.object({}),
      execute: async (_, { progress, emitStreamEvent, toolCallId }) => {
        progress?.('half')
        await emitStreamEvent?.({ agentId: 'child', event: { n: 1 } })
        return toolCallId
      },
    })
    expect(await tool.execute({}, call.context)).toEqual({
      type: 'output',
      data: 'c1',
      metadata: { duration_ms: 0 },
    })
    expect(call.progress).toEqual(['half'])
    expect(call.streamEvents).toEqual([{ agentId: 'child', event: { n: 1 } }])
    call.abort()
    expect(await tool.execute({}, call.context)).toMatchObject({ type: 'error' })
  })
})
