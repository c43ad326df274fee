import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { queueModel, textsIn } from '../../../test/agent/completion-models.js'
import type { Tool } from '../../tool/contract.js'
import { createTool } from '../../tool/create-tool.js'
import { ToolCallError, ToolJsonError, ToolNotFoundError } from '../../tool/errors.js'
import { AssistantContent } from '../../tool/message.js'
import { createLexicalToolIndex } from '../../tool/search/lexical-index.js'
import { ToolSet } from '../../tool/tool-set.js'
import { AgentBuilder } from './agent-builder.js'

const { text, toolCall } = AssistantContent
const say = (name: string, output = name): Tool =>
  createTool({ name, description: `Says ${name}.`, input: z.object({}), execute: () => output }) as Tool

describe('an agent builder', () => {
  it('trims its id and rejects a blank one', () => {
    expect(new AgentBuilder(' support ', queueModel()).build().id).toBe('support')
    for (const id of ['', '   ', undefined as never])
      expect(() => new AgentBuilder(id, queueModel())).toThrow(TypeError)
  })

  it('rejects a value that is not a model', () => {
    expect(() => new AgentBuilder('a', {} as never)).toThrow(/completion\(\) or answer\(\)/)
  })

  it.each([
    ['defaultMaxTurns', (builder: AgentBuilder) => builder.defaultMaxTurns(-1)],
    ['maxTurns', (builder: AgentBuilder) => builder.build().prompt('x').maxTurns(1.5)],
    ['withToolConcurrency', (builder: AgentBuilder) => builder.build().prompt('x').withToolConcurrency(0)],
    [
      'maxAttempts',
      (builder: AgentBuilder) => builder.build().prompt('x').withCompletionRetries({ maxAttempts: 0 }),
    ],
  ])('accepts only whole numbers for %s', (option, set) => {
    expect(() => set(new AgentBuilder('a', queueModel()))).toThrow(RangeError)
    expect(() => set(new AgentBuilder('a', queueModel()))).toThrow(option)
  })

  it('accepts an index only when the tools that it finds can be run', async () => {
    const builder = new AgentBuilder('a', queueModel())
    const { toolSet: _, ...bare } = await createLexicalToolIndex([say('one')])
    expect(() => builder.dynamicTools(bare as never, { topK: 1 })).toThrow(TypeError)
    expect(() => builder.dynamicTools({ ...bare, toolSet: new ToolSet() }, { topK: 0 })).toThrow(RangeError)
    expect(() => builder.useToolSet([] as never)).toThrow(TypeError)
  })

  it('rejects a prompt without a message', () => {
    expect(() => new AgentBuilder('a', queueModel()).build().prompt([])).toThrow(TypeError)
  })

  it('joins instructions with a blank line', () => {
    const agent = new AgentBuilder('a', queueModel()).instructions('First.').instructions('Second.').build()
    expect(agent.instructions).toBe('First.\n\nSecond.')
  })

  it('builds an agent that later additions to the builder do not change', async () => {
    const model = queueModel([toolCall('1', 'late', {})], [text('ok')])
    const builder = new AgentBuilder('a', model).tool(say('early')).context('one').defaultMaxTurns(3)
    const agent = builder.build()
    builder
      .tool(say('late'))
      .tool(say('early', 'replaced'))
      .name('Late')
      .instructions('Late.')
      .context('two')
      .defaultMaxTurns(0)
      .temperature(1)
      .middleware({ onToolOutput: () => 'late' })
      .approvals({ handler: () => true })
    await agent.prompt('go').send()
    expect(agent).toMatchObject({
      name: undefined,
      instructions: undefined,
      defaultMaxTurns: 3,
      middlewares: [],
    })
    expect(agent.staticContext).toEqual([{ id: 'static_doc_0', text: 'one' }])
    expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(['early'])
    expect(model.requests[0]).not.toHaveProperty('temperature')
    expect(await agent.callTool('early', '')).toBe('early')
    expect(textsIn(model.requests[1]?.chatHistory)[0]).toContain('late')
  })

  it('reads a tool set live and does not change it; the agent’s own tools come before it', async () => {
    const set = ToolSet.fromTools([say('shared'), say('own', 'of the set')])
    const model = queueModel(
      () => {
        set.addTool(say('new'))
        set.deleteTool('shared')
        return [toolCall('1', 'shared', {}), toolCall('2', 'own', {}), toolCall('3', 'new', {})]
      },
      [toolCall('4', 'new', {})],
      [text('ok')],
    )
    const agent = new AgentBuilder('a', model).useToolSet(set).tool(say('own')).build()
    await agent.prompt('go').send()
    const names = model.requests.map(({ tools }) => tools.map(({ name }) => name))
    expect(names).toEqual([
      ['own', 'shared'],
      ['own', 'new'],
      ['own', 'new'],
    ])
    // Gone, there, and not offered yet when it was called.
    expect(textsIn(model.requests[1]?.chatHistory)).toEqual([
      expect.stringContaining('shared'),
      'own',
      expect.stringContaining('Error'),
    ])
    expect(textsIn(model.requests[2]?.chatHistory)).toEqual(['new'])
    expect(set.values().map(({ name }) => name)).toEqual(['own', 'new'])
  })

  it('finds and calls tools for the host', async () => {
    const broken = createTool({
      name: 'broken',
      description: 'Breaks.',
      input: z.object({}),
      execute: () => {
        throw new Error('no paper')
      },
    })
    const index = await createLexicalToolIndex([say('found'), say('own', 'of the index')])
    const agent = new AgentBuilder('a', queueModel())
      .tools([say('own'), broken])
      .dynamicTools(index, { topK: 1 })
      .build()
    expect(agent.tools.map(({ name }) => name)).toEqual(['own', 'broken'])
    expect(agent.getTool('found')?.name).toBe('found')
    expect(agent.getTool('nothing')).toBeUndefined()
    expect(await agent.callTool('own', '{}')).toBe('own')
    await expect(agent.callTool('broken', '{}')).rejects.toThrow(ToolCallError)
    await expect(agent.callTool('own', '{')).rejects.toThrow(ToolJsonError)
    await expect(agent.callTool('nothing', '{}')).rejects.toThrow(ToolNotFoundError)
  })
})
