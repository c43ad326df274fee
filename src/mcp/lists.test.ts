/** What a server lists, tools and prompts alike, is read within limits and believed in nothing. */
import { describe, expect, it } from 'vitest'
import type { Connection } from './connection.js'
import { listAll, listTools } from './offered-tools.js'
import { listPrompts, type OfferedPrompt, promptText } from './prompts.js'
import { readServer } from './server-options.js'

const spec = readServer({ name: 'deck', command: 'x' })

/** A connection whose answers this test gives. */
function answering(answer: (params: Readonly<Record<string, unknown>>, n: number) => unknown) {
  const asked: Readonly<Record<string, unknown>>[] = []
  const connection: Connection = {
    can: { tools: true, resources: true, prompts: true },
    sandbox: undefined,
    facts: undefined,
    request: async (_, params) => {
      asked.push(params)
      return answer(params, asked.length - 1)
    },
    close: async () => undefined,
  }
  return { connection, asked }
}

const list = async (answer: (params: object, n: number) => unknown) => {
  const problems: string[] = []
  const { connection, asked } = answering(answer)
  return { found: await listAll(connection, 'x/list', 'items', 60_000, problems), problems, asked }
}

describe('listAll', () => {
  it('requests page after page until no next page is named', async () => {
    const pages = [
      { items: [1, 2], nextCursor: 'b' },
      { items: [3], nextCursor: '' },
    ]
    const { found, problems, asked } = await list((_, n) => pages[n])
    expect(found).toEqual([1, 2, 3])
    expect(problems).toEqual([])
    expect(asked).toEqual([{}, { cursor: 'b' }])
  })

  it.each([[null], ['x'], [{}], [{ items: 'x' }], [{ items: [], nextCursor: 7 }]])(
    'reads %j as an empty list',
    async (answer) => {
      expect((await list(() => answer)).found).toEqual([])
    },
  )

  it('stops at a page that refers to itself', async () => {
    const { found, problems } = await list(() => ({ items: [1], nextCursor: 'again' }))
    expect(found).toEqual([1, 1])
    expect(problems).toEqual(['x/list gave a page that refers to itself: the rest is left out'])
  })

  it('stops after 50 pages, 1,000 entries, or 4 MB', async () => {
    const pages = await list((_, n) => ({ items: [n], nextCursor: `${n}` }))
    expect(pages.found).toHaveLength(50)
    expect(pages.problems).toEqual(['x/list gave more than 50 pages: the rest is left out'])
    const entries = await list((_, n) => ({ items: Array(600).fill(n), nextCursor: `${n}` }))
    expect(entries.found).toHaveLength(1_000)
    expect(entries.problems).toEqual(['x/list gave more than 1000 entries: the rest is left out'])
    const atOnce = await list(() => ({ items: Array(1_001).fill(1) }))
    expect(atOnce.found).toHaveLength(1_000)
    expect(atOnce.problems).toEqual(['x/list gave more than 1000 entries: the rest is left out'])
    const bytes = await list((_, n) => ({ items: ['x'.repeat(2_500_000)], nextCursor: `${n}` }))
    expect(bytes.found).toHaveLength(2)
    expect(bytes.problems).toEqual([expect.stringContaining('characters: the rest is left out')])
  })
})

describe('listTools', () => {
  const tool = (fields: object) => ({ inputSchema: { type: 'object' }, ...fields })
  const offered = (...tools: unknown[]) => listTools(spec, answering(() => ({ tools })).connection)

  it('accepts 5,000 tools of a server and reports that there are more', async () => {
    const named = (count: number) => Array.from({ length: count }, (_, at) => tool({ name: `tool_${at}` }))
    const all = await offered(...named(5_000))
    expect(all.tools).toHaveLength(5_000)
    expect(all.problems).toEqual([])
    const more = await offered(...named(5_001))
    expect(more.tools).toHaveLength(5_000)
    expect(more.problems).toEqual(['tools/list gave more than 5000 entries: the rest is left out'])
  })

  it('reads name, description and schema, and gives each tool a digest of all three', async () => {
    const [first] = (await offered(tool({ name: 'look', description: 'Looks.' }))).tools
    expect(first).toMatchObject({ name: 'look', label: 'look', description: 'Looks.' })
    const [same] = (await offered(tool({ name: 'look', description: 'Looks.' }))).tools
    const [other] = (await offered(tool({ name: 'look', description: 'Looks!' }))).tools
    expect(same?.digest).toBe(first?.digest)
    expect(other?.digest).not.toBe(first?.digest)
  })

  it('skips tools without a name or with an unusable schema, and reports them', async () => {
    const { tools, problems } = await offered(
      null,
      tool({ description: 'x' }),
      tool({ name: '' }),
      { name: 'odd', inputSchema: [] },
      tool({ name: 'good' }),
    )
    expect(tools.map(({ name }) => name)).toEqual(['good'])
    expect(problems).toHaveLength(4)
    expect(problems[3]).toContain('the tool "odd" is left out')
  })

  it('uses the first of two tools with one name', async () => {
    const { tools, problems } = await offered(
      tool({ name: 'look', description: 'first' }),
      tool({ name: 'look', description: 'second' }),
    )
    expect(tools.map(({ description }) => description)).toEqual(['first'])
    expect(problems).toEqual(['the tool "look" is offered twice: only the first counts'])
  })

  it('makes invisible characters of a description visible, and cuts a long one', async () => {
    const hidden = tool({ name: 'a', description: 'x\u{e0041}\u202ey' })
    const long = tool({ name: 'b', description: 'x'.repeat(100_000) })
    const { tools } = await offered(hidden, long)
    expect(tools[0]?.description).not.toMatch(/[\u{e0041}\u202e]/u)
    expect(tools[1]?.description.length).toBeLessThan(8_200)
  })
})

describe('listPrompts', () => {
  it('reads names, descriptions and arguments, and skips invalid entries', async () => {
    const prompts = [
      { name: 'fix it', description: 'Two\nlines', arguments: [{ name: 'what', required: true }, 5, {}] },
      { name: 5 },
      'x',
      { name: 'bare' },
    ]
    const { connection } = answering(() => ({ prompts }))
    const found = await listPrompts(spec, connection, [])
    expect(found).toHaveLength(2)
    expect(found[0]).toMatchObject({
      name: 'fix it',
      command: expect.stringMatching(/^mcp__deck__fix_it_[0-9a-f]{6}$/),
      arguments: [{ name: 'what', required: true }],
    })
    expect(found[0]?.description).not.toContain('\n')
    expect(found[1]).toMatchObject({ command: 'mcp__deck__bare', description: '', arguments: [] })
  })

  it('reads at most 100', async () => {
    const prompts = Array.from({ length: 500 }, (_, n) => ({ name: `p${n}` }))
    expect(await listPrompts(spec, answering(() => ({ prompts })).connection, [])).toHaveLength(100)
  })
})

describe('promptText', () => {
  const prompt: OfferedPrompt = {
    name: 'fix',
    command: 'mcp__deck__fix',
    description: '',
    arguments: [
      { name: 'file', required: true },
      { name: 'why', required: false },
    ],
  }
  const said = (content: unknown) => ({ messages: [{ role: 'user', content }] })
  const fine = said({ type: 'text', text: 'Fix it.' })
  const argsOf = async (written: string): Promise<unknown> => {
    const { connection, asked } = answering(() => fine)
    await promptText(connection, prompt, written, { timeoutMs: 1_000 })
    return asked[0]?.['arguments']
  }

  it.each([
    ['a.ts', { file: 'a.ts' }],
    ['a.ts it is broken', { file: 'a.ts', why: 'it is broken' }],
    ['"a b.ts" "why not"', { file: 'a b.ts', why: 'why not' }],
    ['why="it fails" a.ts', { file: 'a.ts', why: 'it fails' }],
    ['file=a.ts other=1', { file: 'a.ts', why: 'other=1' }],
  ])('parses the words %s', async (written, expected) => {
    expect(await argsOf(written)).toEqual(expected)
  })

  it('names missing arguments, without a request to the server', async () => {
    const { connection, asked } = answering(() => fine)
    await expect(promptText(connection, prompt, ' ', { timeoutMs: 1_000 })).rejects.toThrow(
      '/mcp__deck__fix needs: file',
    )
    expect(asked).toEqual([])
  })

  it('joins the texts of all messages and resources, and skips other content', async () => {
    const { connection } = answering(() => ({
      messages: [
        { content: { type: 'text', text: 'One.' } },
        {
          content: [
            { type: 'image', data: 'x' },
            { type: 'resource', resource: { text: 'Two.' } },
          ],
        },
        'x',
      ],
    }))
    expect(await promptText(connection, prompt, 'a', { timeoutMs: 1_000 })).toBe('One.\n\nTwo.')
  })

  it.each([[null], [{}], [said({ type: 'image' })]])('rejects %j, which has no text', async (answer) => {
    const { connection } = answering(() => answer)
    await expect(promptText(connection, prompt, 'a', { timeoutMs: 1_000 })).rejects.toMatchObject({
      code: 'mcp_protocol',
    })
  })

  it('is limited to 100,000 characters', async () => {
    const { connection } = answering(() => said({ type: 'text', text: 'x'.repeat(200_000) }))
    expect(await promptText(connection, prompt, 'a', { timeoutMs: 1_000 })).toHaveLength(100_000)
  })
})
