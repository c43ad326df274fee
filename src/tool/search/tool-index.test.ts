import { describe, expect, it, vi } from 'vitest'
import { importCopy } from '../../../test/support/second-copy.js'
import type { AnyTool } from '../contract.js'
import { createJsonTool } from '../create-json-tool.js'
import { ToolSet } from '../tool-set.js'
import type { EmbeddingModel } from './embedding.js'
import { createToolIndex } from './embedding-index.js'
import { vectorFilter } from './filter.js'
import { createHashingEmbedding } from './hashing-embedding.js'
import { createLexicalToolIndex } from './lexical-index.js'
import { embedTools } from './tool-document.js'
import { isDynamicToolIndex, type UpdatableToolIndex } from './tool-index.js'

const tool = (name: string, description: string, properties: Record<string, object> = {}): AnyTool =>
  createJsonTool({ name, description, parameters: { type: 'object', properties }, execute: () => name })

const refund = tool('refund_payment', 'Give money back to a customer.', {
  order: { type: 'string', description: 'The order number.' },
})
const weather = tool('get_weather', 'Current weather and forecast for a city.', { city: { type: 'string' } })
const email = tool('send_email', 'Send an email message.', {
  to: { type: 'string', description: 'The recipient address.' },
})
const tools = [refund, weather, email]

/** Counts letters of a small alphabet: enough meaning for a test, and easy to follow. */
const letters: EmbeddingModel & { seen: string[] } = {
  seen: [],
  async embedTexts(texts) {
    letters.seen.push(...texts)
    return texts.map((document) => ({
      document,
      vector: [...'abcdefgh'].map((letter) => document.split(letter).length - 1),
    }))
  },
}

const kinds: [
  string,
  (tools: readonly AnyTool[] | ToolSet, options?: object) => Promise<UpdatableToolIndex>,
][] = [
  [
    'createToolIndex',
    (given, options) => createToolIndex(createHashingEmbedding({ dimensions: 1024 }), given, options),
  ],
  ['createLexicalToolIndex', (given, options) => createLexicalToolIndex(given, options)],
]

describe.each(kinds)('%s', (_, create) => {
  it('finds the tool for the task, with its score, document and definition', async () => {
    const index = await create(tools)
    const [best] = await index.search({ query: 'what is the weather forecast', topK: 1 })
    expect(best).toMatchObject({
      id: 'get_weather',
      document: { toolName: 'get_weather', definition: await weather.definition('') },
    })
    expect(best?.score).toBeGreaterThan(0)
    expect((await index.searchIds({ query: 'send an email', topK: 2 }))[0]?.id).toBe('send_email')
  })

  it('has the tools it was created from, so that the tools it finds can be called', async () => {
    const index = await create(tools)
    expect(isDynamicToolIndex(index)).toBe(true)
    const [best] = await index.search({ query: 'refund', topK: 1 })
    expect(await index.toolSet.call(best?.id ?? '', '{}')).toBe('refund_payment')
  })

  it('uses a given tool set by reference', async () => {
    const set = ToolSet.fromTools(tools)
    expect((await create(set)).toolSet).toBe(set)
  })

  it('returns at most topK tools, best first, and none below the threshold', async () => {
    const index = await create(tools)
    const all = await index.searchIds({ query: 'send email message to customer', topK: 10 })
    expect(all.length).toBeGreaterThan(1)
    expect(all.map(({ score }) => score)).toEqual(all.map(({ score }) => score).toSorted((a, b) => b - a))
    const second = all[1]?.score ?? 0
    expect(await index.searchIds({ query: 'send email message to customer', topK: 1 })).toEqual(
      all.slice(0, 1),
    )
    const above = await index.searchIds({
      query: 'send email message to customer',
      topK: 10,
      threshold: second + 1e-6,
    })
    expect(above).toEqual(all.slice(0, 1))
    expect(
      await index.searchIds({ query: 'send email message to customer', topK: 10, threshold: second }),
    ).toContainEqual(all[1])
  })

  it('orders equal scores by when the tools were added; a replaced tool comes last', async () => {
    const twins = Array.from({ length: 30 }, (_, i) => tool(`t${i}`, 'same words'))
    const index = await create(twins, { content: () => 'the same words' })
    const ids = async (topK: number): Promise<string[]> =>
      (await index.searchIds({ query: 'very same words', topK })).map(({ id }) => id)
    const names = twins.map(({ name }) => name)
    // Names count in the lexical index, and none of these has a word of the query in it.
    expect(await ids(30)).toEqual(names)
    expect(await ids(5)).toEqual(names.slice(0, 5))
    await index.add([tool('t3', 'same words')])
    expect(await ids(30)).toEqual([...names.filter((name) => name !== 't3'), 't3'])
    expect((await index.inspect()).items.at(-1)?.id).toBe('t3')
  })

  it('removes a tool that is still being added', async () => {
    const index = await create([refund])
    const adding = index.add([weather, email])
    expect(index.remove('get_weather')).toBe(true)
    await adding
    expect(index.size).toBe(2)
    expect(index.toolSet.contains('get_weather')).toBe(false)
    expect((await index.searchIds({ query: 'weather', topK: 9 })).map(({ id }) => id)).not.toContain(
      'get_weather',
    )
  })

  it('does not return a tool that was removed from its set directly', async () => {
    const set = ToolSet.fromTools(tools)
    const index = await create(set)
    set.deleteTool('get_weather')
    expect((await index.searchIds({ query: 'weather email', topK: 1 })).map(({ id }) => id)).toEqual([
      'send_email',
    ])
  })

  it('accepts a whole conversation as the query', async () => {
    const index = await create(
      Array.from({ length: 200 }, (_, i) =>
        tool(`tool_${i}`, `Does thing number ${i} with files and weather.`),
      ),
    )
    await index.search({ query: 'please do the thing with the files and the weather '.repeat(1000), topK: 5 })
  })

  it('filters by metadata; tools without metadata never match', async () => {
    const index = await create(tools, {
      metadata: (one: AnyTool) =>
        one.name === 'get_weather' ? undefined : { team: one.name === 'send_email' ? 'comms' : 'billing' },
    })
    const found = await index.search({
      query: 'weather email refund',
      topK: 5,
      filter: vectorFilter.eq('team', 'comms'),
    })
    expect(found.map(({ id }) => id)).toEqual(['send_email'])
    expect(found[0]?.metadata).toEqual({ team: 'comms' })
    expect(
      await index.search({ query: 'weather', topK: 5, filter: vectorFilter.eq('team', 'none') }),
    ).toEqual([])
  })

  it('accepts several texts per tool and uses the best score', async () => {
    const index = await create([weather, email], {
      content: (one: AnyTool) => (one.name === 'get_weather' ? ['rain', 'umbrella needed today'] : 'letters'),
    })
    const [best] = await index.search({ query: 'umbrella', topK: 1 })
    expect(best?.id).toBe('get_weather')
    expect(best?.document.text).toBe('rain\numbrella needed today')
  })

  it('adds and removes tools, in the index and in the tool set', async () => {
    const index = await create([refund])
    await index.add([weather, email])
    expect(index.size).toBe(3)
    expect((await index.searchIds({ query: 'weather', topK: 1 }))[0]?.id).toBe('get_weather')
    expect(index.toolSet.contains('get_weather')).toBe(true)
    expect(index.remove('get_weather')).toBe(true)
    expect(index.remove('get_weather')).toBe(false)
    expect(index.toolSet.contains('get_weather')).toBe(false)
    expect(
      (await index.searchIds({ query: 'weather forecast city', topK: 5 })).map(({ id }) => id),
    ).not.toContain('get_weather')
    expect((await index.searchIds({ query: 'email', topK: 1 }))[0]?.id).toBe('send_email')
  })

  it('replaces a tool that is added again', async () => {
    const index = await create(tools)
    await index.add([tool('get_weather', 'Tides and moon phases.')])
    expect(index.size).toBe(3)
    expect((await index.searchIds({ query: 'moon phases tides', topK: 1 }))[0]?.id).toBe('get_weather')
    expect((await index.search({ query: 'moon', topK: 1 }))[0]?.document.definition.description).toBe(
      'Tides and moon phases.',
    )
  })

  it('changes nothing when adding fails', async () => {
    const index = await create(tools)
    const broken = { ...tool('broken', 'x'), definition: () => Promise.reject(new Error('no definition')) }
    await expect(index.add([tool('fine', 'x'), broken])).rejects.toThrow('no definition')
    expect(index.size).toBe(3)
    expect(index.toolSet.contains('fine')).toBe(false)
  })

  it('rejects when a definition fails, or when a tool has no text', async () => {
    await expect(
      create([
        {
          ...weather,
          definition: () => {
            throw new Error('no definition')
          },
        },
      ]),
    ).rejects.toThrow('no definition')
    await expect(create([weather], { content: () => [] })).rejects.toThrow(
      'Tool "get_weather" has no text to index.',
    )
  })

  it('finds nothing in an empty index, and accepts tools later', async () => {
    const index = await create([])
    expect(await index.search({ query: 'x', topK: 3 })).toEqual([])
    await index.add([weather])
    expect(await index.searchIds({ query: 'weather', topK: 3 })).toHaveLength(1)
  })

  it('rejects an invalid search', async () => {
    const index = await create(tools)
    for (const topK of [0, -1, 1.5, Number.NaN])
      await expect(index.search({ query: 'x', topK })).rejects.toThrow(
        /topK must be an integer of at least 1/,
      )
    await expect(index.search({ query: 'x', topK: 1, threshold: Number.NaN })).rejects.toThrow(
      /threshold must be a finite number/,
    )
    await expect(index.search({ query: 3 as never, topK: 1 })).rejects.toThrow(/needs a query text/)
  })

  it('lists its documents, page by page', async () => {
    const index = await create(tools, {
      metadata: (one: AnyTool) => ({ team: one.name === 'send_email' ? 'comms' : 'other' }),
    })
    const first = await index.inspect({ limit: 2 })
    expect(first).toMatchObject({ totalCount: 3, nextCursor: '2' })
    expect(first.items.map(({ id }) => id)).toEqual(['refund_payment', 'get_weather'])
    const last = await index.inspect({ limit: 2, cursor: '2' })
    expect(last.items.map(({ id }) => id)).toEqual(['send_email'])
    expect(last).not.toHaveProperty('nextCursor')
    expect(await index.inspect({ filter: vectorFilter.eq('team', 'comms') })).toMatchObject({ totalCount: 1 })
    await expect(index.inspect({ cursor: 'x' })).rejects.toThrow(RangeError)
  })

  it('can be searched by a model, as a tool', async () => {
    const search = (await create(tools)).asTool({ name: 'find_tools', topK: 1 })
    expect(search).toMatchObject({ name: 'find_tools', kind: 'search' })
    expect(await search.execute({ query: 'weather' })).toMatchObject({
      type: 'output',
      data: [{ id: 'get_weather' }],
    })
    expect(await search.call({ query: 'weather email', topK: 2 })).toHaveLength(2)
    expect(await search.execute({ query: '' })).toMatchObject({ type: 'error' })
  })
})

describe('createToolIndex', () => {
  it('scores by cosine: the same text scores 1', async () => {
    const index = await createToolIndex(letters, [weather], { content: () => 'abc' })
    expect(await index.searchIds({ query: 'abc', topK: 1, threshold: 1 })).toEqual([
      { score: 1, id: 'get_weather' },
    ])
    expect(await index.searchIds({ query: 'fgh', topK: 1 })).toEqual([{ score: 0, id: 'get_weather' }])
  })

  it('embeds each tool only once', async () => {
    const index = await createToolIndex(letters, [refund, weather])
    letters.seen.length = 0
    await index.add([email])
    const { name, description, parameters } = await email.definition('')
    expect(letters.seen).toEqual([name, description, JSON.stringify(parameters)])
    letters.seen.length = 0
    index.remove('get_weather')
    expect(letters.seen).toEqual([])
  })

  it('rejects when the embedding model fails, and leaves the index as it was', async () => {
    const embedTexts = vi.fn(letters.embedTexts)
    const index = await createToolIndex({ embedTexts }, tools)
    embedTexts.mockRejectedValueOnce(new Error('quota'))
    await expect(index.add([tool('more', 'x')])).rejects.toThrow('quota')
    expect(index.size).toBe(3)
    await expect(
      createToolIndex({ embedTexts: () => Promise.reject(new Error('down')) }, tools),
    ).rejects.toThrow('down')
  })

  it('rejects vectors of another length before it changes anything', async () => {
    let length = 3
    const model: EmbeddingModel = {
      embedTexts: async (texts) =>
        texts.map((document) => ({ document, vector: Array.from({ length }, () => 1) })),
    }
    const index = await createToolIndex(model, tools)
    length = 4
    await expect(index.add([tool('more', 'x')])).rejects.toThrow(
      'The vector of tool "more" has 4 dimensions where the others have 3.',
    )
    length = 3
    expect(await index.searchIds({ query: 'x', topK: 9 })).toHaveLength(3)
  })
})

describe('createLexicalToolIndex', () => {
  it.each([
    ['weathr', 'get_weather'],
    ['emails', 'send_email'],
    ['sendEmail', 'send_email'],
    ['recipient', 'send_email'],
    ['forec', 'get_weather'],
    ['REFUND a PAYMENT', 'refund_payment'],
  ])('finds by misspelt, inflected, joined and partial words: %s', async (query, expected) => {
    const index = await createLexicalToolIndex(tools)
    expect((await index.searchIds({ query, topK: 1 }))[0]?.id).toBe(expected)
  })

  it('finds nothing for words that no tool contains', async () => {
    expect(await (await createLexicalToolIndex(tools)).search({ query: 'zzzz the of', topK: 5 })).toEqual([])
  })

  it('ranks a name above a mention', async () => {
    const index = await createLexicalToolIndex([
      tool('notes', 'Keeps notes about deploys and deploy dates and deploy people.'),
      tool('deploy', 'Ships a build.'),
    ])
    expect((await index.searchIds({ query: 'deploy', topK: 2 })).map(({ id }) => id)).toEqual([
      'deploy',
      'notes',
    ])
  })
})

describe('embedTools', () => {
  it('returns a record per tool with a vector per text', async () => {
    const [record] = await embedTools(letters, [weather])
    const definition = await weather.definition('')
    const texts = [definition.name, definition.description, JSON.stringify(definition.parameters)]
    expect(record).toMatchObject({
      id: 'get_weather',
      document: { toolName: 'get_weather', definition, text: texts.join('\n') },
    })
    expect(record?.embeddings.map(({ document }) => document)).toEqual(texts)
    expect(record).not.toHaveProperty('metadata')
  })

  it('accepts custom texts, metadata and a tool set', async () => {
    const records = await embedTools(letters, ToolSet.fromTools(tools), {
      content: ({ name }) => [name, 'more'],
      metadata: ({ name }) => ({ length: name.length }),
      concurrency: 2,
    })
    expect(records.map(({ id }) => id)).toEqual(['refund_payment', 'get_weather', 'send_email'])
    expect(records[1]).toMatchObject({
      metadata: { length: 11 },
      document: { text: 'get_weather\nmore', metadata: { length: 11 } },
    })
    expect(records[1]?.embeddings).toHaveLength(2)
  })
})

describe('isDynamicToolIndex', () => {
  it('recognises an index by its tool set', async () => {
    expect(isDynamicToolIndex({ toolSet: new ToolSet() })).toBe(true)
    const other = await importCopy<typeof import('../tool-set.js')>(
      new URL('../tool-set.js', import.meta.url),
    )
    expect(other.ToolSet).not.toBe(ToolSet)
    expect(isDynamicToolIndex({ toolSet: new other.ToolSet() })).toBe(true)
    for (const value of [undefined, null, 'x', {}, { toolSet: {} }, { toolSet: undefined }])
      expect(isDynamicToolIndex(value)).toBe(false)
  })
})
