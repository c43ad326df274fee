import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { AnyTool, Tool } from '../../src/tool/contract.js'
import { createJsonTool } from '../../src/tool/create-json-tool.js'
import { createTool } from '../../src/tool/create-tool.js'
import type { JsonSchema, JsonValue } from '../../src/tool/json.js'
import { ToolSet } from '../../src/tool/tool-set.js'
import { calls, eventsOf, ofType, openSession, shownTools, toolResults } from './open-session.js'

/** Runs a model that calls the tool once; the run must end well. */
async function inRun(tool: AnyTool, args: JsonValue) {
  const { session, server } = await openSession([calls([tool.name, args]), 'done'], {
    tools: [tool],
    permissionPolicy: { defaultDecision: 'allow' },
  })
  const events = await eventsOf(session, 'go')
  expect(ofType(events, 'error')).toEqual([])
  expect(server.requests).toHaveLength(2)
  const notices = ofType(events, 'notice').map(({ message }) => message)
  return { result: toolResults(server, 1)[0] ?? '', notices, shown: shownTools(server, 0), session, server }
}

describe('arguments of a wrong type', () => {
  const kinds: readonly [string, (ran: (args: unknown) => void) => AnyTool][] = [
    [
      'Zod',
      (ran) =>
        createTool({
          name: 'note',
          description: 'Takes a note.',
          input: z.object({
            count: z.number(),
            tags: z.array(z.string()).optional(),
            on: z.boolean().optional(),
          }),
          execute: (args) => ran(args),
        }),
    ],
    [
      'a JSON Schema',
      (ran) =>
        createJsonTool({
          name: 'note',
          description: 'Takes a note.',
          parameters: schema,
          execute: (args) => ran(args),
        }),
    ],
    [
      'a tool written by hand',
      (ran): Tool => ({
        name: 'note',
        definition: () => ({ name: 'note', description: 'Takes a note.', parameters: schema }),
        call: (args) => ran(args),
      }),
    ],
  ]
  const schema: JsonSchema = {
    type: 'object',
    properties: {
      count: { type: 'number' },
      tags: { type: 'array', items: { type: 'string' } },
      on: { type: 'boolean' },
    },
    required: ['count'],
  }

  it.each(kinds)('are converted in ToolSet.call as in a run, with %s', async (_, make) => {
    const read: readonly [JsonValue, JsonValue][] = [
      [{ count: '5' }, { count: 5 }],
      [
        { count: 5, tags: 'one' },
        { count: 5, tags: ['one'] },
      ],
      [
        { count: '1.5', on: 'true', tags: '["a"]' },
        { count: 1.5, on: true, tags: ['a'] },
      ],
      [{ count: 5, on: null }, { count: 5 }],
    ]
    for (const [given, expected] of read) {
      const ran: unknown[] = []
      const tool = make((args) => void ran.push(args))
      await inRun(tool, given)
      await ToolSet.fromTools([tool]).call('note', JSON.stringify(given))
      expect(ran).toEqual([expected, expected])
    }
  })

  it.each(kinds.slice(0, 2))(
    'that are ambiguous are an error that names the field, in both, with %s',
    async (_, make) => {
      const wrong: readonly JsonValue[] = [
        { count: 'five' },
        { count: true },
        { count: [5] },
        { count: null },
        {},
      ]
      for (const given of wrong) {
        const ran: unknown[] = []
        const tool = make((args) => void ran.push(args))
        const { result } = await inRun(tool, given)
        expect(result).toMatch(/Invalid arguments for tool "note":\n- count: /)
        await expect(ToolSet.fromTools([tool]).call('note', JSON.stringify(given))).rejects.toThrow(
          /- count: /,
        )
        expect(ran).toEqual([])
      }
    },
  )

  it('are an error for the host and for programs, whose arguments come from code', async () => {
    const ran: unknown[] = []
    const tool = kinds[0]?.[1]((args) => void ran.push(args)) as AnyTool
    const { session } = await openSession([], { tools: [tool] })
    expect(await session.tool('note', { count: '5' })).toMatchObject({
      exitCode: 1,
      output: expect.stringContaining('- count: '),
    })
    expect(ran).toEqual([])
  })

  it('do not run a tool twice that rejects the same arguments itself', async () => {
    let ran = 0
    const inner = createTool({
      name: 'inner',
      description: '',
      input: z.object({ a: z.number() }),
      execute: () => undefined,
    })
    const outer: Tool = {
      name: 'outer',
      definition: () => ({ name: 'outer', description: '', parameters: { type: 'object' } }),
      call: async (args) => {
        ran++
        return inner.call(args as { a: number })
      },
    }
    await expect(ToolSet.fromTools([outer]).call('outer', '{"a":"5"}')).rejects.toThrow('- a: ')
    expect(ran).toBe(1)
  })
})

describe('a tool written by hand with a schema that the validator does not understand', () => {
  const odd: readonly [string, unknown][] = [
    ['an unknown type', { type: 'object', properties: { a: { type: 'any' } } }],
    ['a dynamic reference', { type: 'object', properties: { a: { $dynamicRef: '#x' } } }],
    [
      'a reference to nowhere',
      { type: 'object', properties: { a: { $ref: 'https://example.test/a.json' } } },
    ],
    ['a reference to itself', { type: 'object', properties: { a: { $ref: '#/properties/a' } } }],
    ['a pattern that is none', { type: 'object', properties: { a: { type: 'string', pattern: '(' } } }],
    ['required as a flag', { type: 'object', properties: { a: { type: 'string', required: true } } }],
    ['properties as a list', { type: 'object', properties: [] }],
    ['a list as its type', { type: 'array', items: {} }],
    ['text', 'object'],
    ['nothing', undefined],
    ['a cycle', cyclic()],
    ['functions inside', { type: 'object', properties: { a: () => 'x' } }],
  ]

  it.each(odd)('gets its arguments unchecked, and the run continues: %s', async (_, parameters) => {
    const ran: unknown[] = []
    const tool: Tool = {
      name: 'by_hand',
      definition: () => ({ name: 'by_hand', description: 'By hand.', parameters: parameters as JsonSchema }),
      call(args) {
        ran.push(args)
        return 'done by hand'
      },
    }
    const { result, notices, shown } = await inRun(tool, { a: ['anything'] })
    expect(ran).toEqual([{ a: ['anything'] }])
    expect(result).toBe('done by hand')
    expect(shown).toContain('by_hand')
    expect(notices).toContainEqual(
      expect.stringMatching(/arguments were not checked, the schema cannot be used: /),
    )
    expect(await ToolSet.fromTools([tool]).call('by_hand', '{"a":1}')).toBe('done by hand')
  })

  it('is omitted while its definition fails, and a call is an error', async () => {
    const tool: Tool = {
      name: 'by_hand',
      definition: () => {
        throw new Error('no description today')
      },
      call: () => 'done by hand',
    }
    const { result, notices, shown } = await inRun(tool, {})
    expect(shown).not.toContain('by_hand')
    expect(result).toContain('Error: ')
    expect(notices).toContainEqual(expect.stringContaining('no description today'))
  })
})

function cyclic(): object {
  const schema: Record<string, unknown> = { type: 'object' }
  schema['properties'] = { a: schema }
  return schema
}
