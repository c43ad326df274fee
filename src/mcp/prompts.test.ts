import { describe, expect, it } from 'vitest'
import type { Connection } from './connection.js'
import { listPrompts, type OfferedPrompt, promptText } from './prompts.js'
import { readServer } from './server-options.js'

const limits = { timeoutMs: 60_000 }

/** A connection to a server that answers each request with this. */
function answering(answer: unknown): Connection & { readonly asked: unknown[] } {
  const asked: unknown[] = []
  return {
    asked,
    can: { tools: false, resources: false, prompts: true },
    sandbox: undefined,
    facts: undefined,
    request: async (_, params) => {
      asked.push(params)
      return answer
    },
    close: async () => undefined,
  }
}

const said = (...texts: string[]) => ({
  messages: texts.map((text) => ({ role: 'user', content: { type: 'text', text } })),
})
const prompt = (...args: [name: string, required: boolean][]): OfferedPrompt => ({
  name: 'review',
  command: 'mcp__web__review',
  description: '',
  arguments: args.map(([name, required]) => ({ name, required })),
})

async function argumentsOf(written: string, ...args: [string, boolean][]): Promise<unknown> {
  const connection = answering(said('ok'))
  await promptText(connection, prompt(...args), written, limits)
  return (connection.asked[0] as { arguments: unknown }).arguments
}

describe('the arguments of a prompt command', () => {
  it.each([
    ['name=value', 'file=a.ts depth=2', { file: 'a.ts', depth: '2' }],
    ['quotes around a value', 'file="a b.ts" depth=2', { file: 'a b.ts', depth: '2' }],
    ['the order of the arguments', 'a.ts 2', { file: 'a.ts', depth: '2' }],
    [
      'the last argument for all that is left',
      'a.ts as deep as it goes',
      { file: 'a.ts', depth: 'as deep as it goes' },
    ],
    ['a name in front of the rest', 'depth=2 a.ts', { file: 'a.ts', depth: '2' }],
    ['words with = that name no argument', 'x=1', { file: 'x=1' }],
  ])('are parsed with %s', async (_, written, expected) => {
    expect(await argumentsOf(written, ['file', true], ['depth', false])).toEqual(expected)
  })

  it('are rejected without a request when a required one is missing', async () => {
    const connection = answering(said('ok'))
    await expect(promptText(connection, prompt(['file', true], ['x', true]), 'a', limits)).rejects.toThrow(
      '/mcp__web__review needs: x',
    )
    expect(connection.asked).toEqual([])
  })
})

describe('the text of a prompt', () => {
  it('has all its messages and resources', async () => {
    const messages = [
      ...said('one').messages,
      {
        role: 'user',
        content: [
          { type: 'text', text: 'two' },
          { type: 'image', data: 'AA' },
        ],
      },
      { role: 'user', content: { type: 'resource', resource: { uri: 'a', text: 'three' } } },
    ]
    expect(await promptText(answering({ messages }), prompt(), '', limits)).toBe('one\n\ntwo\n\nthree')
  })

  it.each([undefined, {}, { messages: 'x' }, { messages: [null, 7, { content: {} }] }])(
    'is an error when the server returns none: %j',
    async (answer) => {
      await expect(promptText(answering(answer), prompt(), '', limits)).rejects.toThrow('has no text')
    },
  )

  it('is cut when it is too long', async () => {
    expect((await promptText(answering(said('x'.repeat(200_000))), prompt(), '', limits)).length).toBe(
      100_000,
    )
  })
})

describe('the prompts of a server', () => {
  const spec = readServer({ name: 'web', url: 'https://a.test/mcp' })

  it('are commands with a description of one visible line, and invalid ones are skipped', async () => {
    const offered = [
      { name: 'review', description: 'Look\nat it', arguments: [{ name: 'file', required: true }, 7] },
      { name: '' },
      { description: 'no name' },
      'text',
    ]
    expect(await listPrompts(spec, answering({ prompts: offered }), [])).toEqual([
      {
        name: 'review',
        command: 'mcp__web__review',
        description: 'Look at it',
        arguments: [{ name: 'file', required: true }],
      },
    ])
  })

  it('are limited to a hundred', async () => {
    const prompts = Array.from({ length: 300 }, (_, at) => ({ name: `p${at}` }))
    expect(await listPrompts(spec, answering({ prompts }), [])).toHaveLength(100)
  })
})
