import { describe, expect, it } from 'vitest'
import type { SessionOptions } from '../../src/session/options.js'
import { createJsonTool } from '../../src/tool/create-json-tool.js'
import type { JsonValue } from '../../src/tool/json.js'
import { calls, openSession, shownTools, toolResults } from './open-session.js'

const locked = [
  'read write edit glob grep bash todo task question',
  'web_search web_fetch skill tool_search',
].flatMap((names) => names.split(' '))

/**
 * The answers of tools without a backend; the same words in every session without a user, provider, skill or further
 * tool.
 */
const fixed: readonly [name: string, args: JsonValue, answer: RegExp][] = [
  [
    'question',
    { questions: [{ question: 'Which?' }] },
    /No user can answer: this session runs without a user/,
  ],
  ['web_search', { query: 'x' }, /Web search is not set up: no search provider is configured/],
  ['skill', { name: 'release' }, /Skill 'release' not found\. There are no skills here\./],
  ['tool_search', { query: 'send mail' }, /"matches":\[\].*There are no further tools/],
]

const none: SessionOptions = { skillDirs: [], builtinSkills: false }

describe('the locked set of tools', () => {
  it('exists from the start, before any call', async () => {
    const { session } = await openSession([])
    expect(locked).toHaveLength(13)
    expect(session.toolNames()).toEqual(expect.arrayContaining(locked))
    expect(session.toolDefinitions().map(({ name }) => name)).toEqual(expect.arrayContaining(locked))
  })

  it.each(fixed)('answers a call of the host to %s with what is missing', async (name, args, answer) => {
    const { session } = await openSession([], none)
    const { output, envelope } = await session.tool(name, args)
    expect(output).toMatch(answer)
    expect(envelope.type).toBe(name === 'tool_search' ? 'output' : 'error')
  })

  it('answers calls of a model the same, although it is not shown these tools', async () => {
    const { session, server } = await openSession(
      [calls(...fixed.map(([name, args]): [string, JsonValue] => [name, args])), 'done'],
      none,
    )
    await session.send('go')
    for (const [name] of fixed) expect(shownTools(server, 0)).not.toContain(name)
    for (const [at, result] of toolResults(server, 1).entries())
      expect(result).toMatch(fixed[at]?.[2] ?? /never/)
  })

  it('answers calls of a program the same', async () => {
    const { session } = await openSession([], none)
    const { metadata } = await session.program({
      source: `export default async (ctx, calls) =>
        Promise.all(calls.map(async ([name, args]) => (await ctx.tool(name, args)).output))`,
      inputs: fixed.map(([name, args]) => [name, args]),
    })
    const said = metadata?.['script_result'] as string[]
    for (const [at, result] of said.entries()) expect(result).toMatch(fixed[at]?.[2] ?? /never/)
  })

  it('is the selection of the host if there is one', async () => {
    const { session } = await openSession([], { builtinTools: ['read', 'tool_search'] })
    expect(session.toolNames()).toEqual(['read', 'tool_search'])
    const { session: bare } = await openSession([], { builtinTools: false })
    expect(bare.toolNames()).toEqual([])
  })
})

describe('tool_search', () => {
  const many = Array.from({ length: 30 }, (_, at) =>
    createJsonTool({
      name: `mail_${at}`,
      // Long enough that not all of them are shown.
      description: `Sends letter number ${at}. ${'It needs a stamp and a box. '.repeat(80)}`,
      parameters: { type: 'object' },
      execute: () => 'sent',
    }),
  )

  it('returns matches by id and description, and an empty list for none', async () => {
    const { session, server } = await openSession(
      [calls(['tool_search', { query: 'letter' }]), calls(['tool_search', { query: 'zzz qqq' }]), 'done'],
      { tools: many },
    )
    await session.send('go')
    expect(shownTools(server, 0)).toContain('tool_search')
    const [found = '{}', none = '{}'] = toolResults(server, 2)
    const { matches } = JSON.parse(found)
    expect(matches).toHaveLength(5)
    expect(matches[0]).toMatchObject({
      id: expect.stringMatching(/^mail_\d+$/),
      description: expect.stringMatching(/^Sends letter number \d+\./),
    })
    expect(shownTools(server, 1)).toContain(matches[0].id)
    expect(JSON.parse(none)).toMatchObject({ matches: [] })
    const direct = await session.tool('tool_search', { query: 'zzz qqq' })
    expect(direct).toMatchObject({ exitCode: 0, envelope: { type: 'output', data: { matches: [] } } })
  })
})
