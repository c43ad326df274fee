// Libraries that can leave tools out of the request until a model finds them.

import { runsOf } from '../../ours/many-tools.mjs'
import { toolParts } from '../../synthetic.mjs'
import { instructions, load } from '../contract.mjs'

const hosted = 'its tool search is the provider’s, not its own'

/** @type {Record<string, import('../sides.mjs').Side>} */
export const sides = {
  mastra: {
    title: '@mastra/core, ToolSearchProcessor',
    async open({ url }) {
      const [{ Agent }, { createTool }, { ToolSearchProcessor }, { createOpenAICompatible }] =
        await Promise.all(
          [
            '@mastra/core/agent',
            '@mastra/core/tools',
            '@mastra/core/processors',
            '@ai-sdk/openai-compatible',
          ].map(load),
        )
      return runsOf(url, (count, plan) => {
        let called = 0
        const tools = Object.fromEntries(
          Array.from({ length: count }, (_, number) => {
            const { name, description, input } = toolParts(number)
            const execute = async () => {
              called++
              return 'done'
            }
            return [name, createTool({ id: name, description, inputSchema: input(), execute })]
          }),
        )
        const model = createOpenAICompatible({ name: 'bench', baseURL: `${plan}/v1`, includeUsage: true })(
          'm',
        )
        return async () => {
          const before = called
          const processor = new ToolSearchProcessor({ tools, search: { autoLoad: true } })
          const agent = new Agent({
            id: 'bench',
            name: 'bench',
            instructions,
            model,
            inputProcessors: [processor],
          })
          const result = await agent.stream('Do it.', { maxSteps: 5 })
          for await (const _ of result.textStream);
          return called - before
        }
      })
    },
  },
  tanstack: {
    title: '@tanstack/ai, lazy tools (their names are sent)',
    async open({ url }) {
      const [{ chat, maxIterations, toolDefinition }, { createOpenaiChatCompletions }] = await Promise.all(
        ['@tanstack/ai', '@tanstack/ai-openai'].map(load),
      )
      return runsOf(url, (count, plan) => {
        let called = 0
        const tools = Array.from({ length: count }, (_, number) => {
          const { name, description, input } = toolParts(number)
          return toolDefinition({ name, description, inputSchema: input(), lazy: true }).server(async () => {
            called++
            return 'done'
          })
        })
        const adapter = createOpenaiChatCompletions('gpt-4o', 'none', { baseURL: `${plan}/v1` })
        return async () => {
          const before = called
          const messages = [{ role: 'user', content: 'Do it.' }]
          const parts = chat({
            adapter,
            messages,
            systemPrompts: [instructions],
            tools,
            agentLoopStrategy: maxIterations(5),
          })
          for await (const part of parts) if (part.type === 'RUN_ERROR') throw new Error(part.message)
          return called - before
        }
      })
    },
  },
  ai: { title: 'ai', cannot: hosted },
  'openai-agents': { title: '@openai/agents', cannot: hosted },
  langgraph: {
    title: 'LangChain',
    cannot: 'its tool selector sends all tools to a model in a request of its own',
  },
  voltagent: { title: '@voltagent/core', cannot: 'its tool routing needs an embedding model' },
  pi: { title: 'pi-agent-core', cannot: 'it has no tool search' },
  strands: { title: '@strands-agents/sdk', cannot: 'it has no tool search' },
  adk: { title: '@google/adk', cannot: 'it has no tool search' },
}
