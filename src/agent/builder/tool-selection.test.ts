import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  type QueueModel,
  queueModel,
  resultOf,
  textsIn,
  ways,
} from '../../../test/agent/completion-models.js'
import type { Tool } from '../../tool/contract.js'
import { createTool } from '../../tool/create-tool.js'
import { AssistantContent } from '../../tool/message.js'
import type { EmbeddingModel } from '../../tool/search/embedding.js'
import { createToolIndex } from '../../tool/search/embedding-index.js'
import { vectorFilter } from '../../tool/search/filter.js'
import type { DynamicToolIndex } from '../../tool/search/tool-index.js'
import { AgentBuilder } from './agent-builder.js'

const { text, toolCall } = AssistantContent
const words = ['weather', 'mail', 'bank'] as const

/** Knows three things, and hears nothing else. */
const embedding: EmbeddingModel = {
  embedTexts: async (texts) =>
    texts.map((document) => ({ document, vector: words.map((word) => (document.includes(word) ? 1 : 0)) })),
}
const tool = (name: string, output: unknown = `${name} done`): Tool =>
  createTool({ name, description: `About ${name}.`, input: z.object({}), execute: () => output }) as Tool
const indexOf = (...tools: Tool[]): Promise<DynamicToolIndex> =>
  createToolIndex(embedding, tools, {
    content: ({ name }) => name,
    metadata: ({ name }) => ({ team: name.split('_')[1] ?? 'all' }),
  })
const offered = (model: QueueModel): string[][] =>
  model.requests.map(({ tools }) => tools.map(({ name }) => name))
const best = { topK: 1, threshold: 0.5 }

describe.each(ways)('tools that are found by search (%s)', (way) => {
  it('are those that match the user’s message, after the tools that are always offered', async () => {
    const index = await indexOf(tool('weather'), tool('mail'))
    const model = queueModel([toolCall('1', 'weather', {})], [text('ok')])
    const agent = new AgentBuilder('a', model).dynamicTools(index, best).tool(tool('clock')).build()
    await resultOf(agent.prompt('the weather?'), way)
    expect(offered(model)[0]).toEqual(['clock', 'weather'])
    expect(textsIn(model.requests[1]?.chatHistory)).toEqual(['weather done'])
  })

  it('come from each index in its order; of two with one name the first counts, and one that is always offered counts before all', async () => {
    const first = await indexOf(tool('mail', 'first'), tool('weather'))
    const second = await indexOf(tool('mail', 'second'), tool('bank'))
    const model = queueModel([toolCall('1', 'mail', {}), toolCall('2', 'weather', {})], [text('ok')])
    const agent = new AgentBuilder('a', model)
      .dynamicTools(first, { topK: 2, threshold: 0.1 })
      .dynamicTools(second, { topK: 2, threshold: 0.1 })
      .tool(tool('weather', 'always'))
      .build()
    await resultOf(agent.prompt('mail, weather and bank'), way)
    expect(offered(model)[0]).toEqual(['weather', 'mail', 'bank'])
    expect(textsIn(model.requests[1]?.chatHistory)).toEqual(['first', 'always'])
  })

  it('cannot be called when a filter removed them, even if the model knows the name', async () => {
    let ran = false
    const hidden = createTool({
      name: 'bank_ops',
      description: 'Pays.',
      input: z.object({}),
      execute: () => {
        ran = true
      },
    })
    const index = await indexOf(hidden as Tool, tool('bank_all'))
    const model = queueModel([toolCall('1', 'bank_ops', {})], [text('ok')])
    const filter = vectorFilter.eq('team', 'all')
    const agent = new AgentBuilder('a', model).dynamicTools(index, { topK: 5, filter }).build()
    await resultOf(agent.prompt('bank'), way)
    expect(offered(model)[0]).toEqual(['bank_all'])
    expect(textsIn(model.requests[1]?.chatHistory)[0]).toContain('bank_ops')
    expect(ran).toBe(false)
  })

  it('stay for the whole run when later results find nothing or others, and new ones are added at the end', async () => {
    const image = [{ type: 'image', data: 'AAAA', mediaType: 'image/png' }]
    const index = await indexOf(tool('weather', image), tool('mail', 'see the bank'), tool('bank'))
    const model = queueModel(
      [toolCall('1', 'weather', {})],
      [toolCall('2', 'look', {})],
      [toolCall('3', 'mail', {})],
      [toolCall('4', 'bank', {})],
      [text('ok')],
    )
    const agent = new AgentBuilder('a', model)
      .dynamicTools(index, best)
      .tool(tool('look', 'you have mail'))
      .build()
    await resultOf(agent.prompt('weather'), way)
    expect(offered(model)).toEqual([
      ['look', 'weather'],
      ['look', 'weather'],
      ['look', 'weather', 'mail'],
      ['look', 'weather', 'mail', 'bank'],
      ['look', 'weather', 'mail', 'bank'],
    ])
  })

  it('are none when the prompt has no words', async () => {
    const index = await indexOf(tool('weather'))
    const model = queueModel([text('ok')])
    const agent = new AgentBuilder('a', model).dynamicTools(index, { topK: 1 }).build()
    await resultOf(agent.prompt({ role: 'user', content: [{ type: 'image', data: 'AAAA' }] }), way)
    expect(offered(model)).toEqual([[]])
  })

  it('are removed when they were removed from their set', async () => {
    const index = await indexOf(tool('weather'))
    const model = queueModel(() => {
      index.toolSet.deleteTool('weather')
      return [toolCall('1', 'weather', {})]
    }, [text('ok')])
    const agent = new AgentBuilder('a', model).dynamicTools(index, best).build()
    await resultOf(agent.prompt('weather'), way)
    expect(textsIn(model.requests[1]?.chatHistory)[0]).toContain('weather')
    expect(textsIn(model.requests[1]?.chatHistory)[0]).not.toContain('done')
    expect(offered(model)[1]).toEqual([])
  })

  it('end the run when the search fails', async () => {
    const index = await indexOf(tool('weather'))
    const failing = { ...index, search: () => Promise.reject(new Error('index is down')) }
    const agent = new AgentBuilder('a', queueModel([text('ok')])).dynamicTools(failing, best).build()
    await expect(resultOf(agent.prompt('weather'), way)).rejects.toThrow('index is down')
  })
})

describe('a tool written by hand', () => {
  it('can adapt its description to the prompt, and is called by the name it is registered under', async () => {
    const byHand: Tool = {
      name: 'by_hand',
      definition: (prompt) => ({
        name: 'else',
        description: `For: ${prompt}`,
        parameters: { type: 'object', properties: {} },
      }),
      call: () => 'made',
    }
    const model = queueModel([toolCall('1', 'by_hand', {})], [text('ok')])
    await new AgentBuilder('a', model).tool(byHand).build().prompt('a chair').send()
    expect(model.requests[0]?.tools).toMatchObject([{ name: 'by_hand', description: 'For: a chair' }])
    expect(textsIn(model.requests[1]?.chatHistory)).toEqual(['made'])
  })
})
