// A tool called directly, with the function that each library has for that.

import { forecast, inputOf, text, times } from '../../ours/forecast.mjs'
import { load } from '../contract.mjs'

const args = JSON.parse(text)
const description = 'The weather of the next days.'
const input = async () => inputOf((await load('zod')).z)

/** @type {Record<string, import('../sides.mjs').Side>} */
export const sides = {
  'openai-agents': {
    title: '@openai/agents: tool.invoke',
    async open() {
      const { RunContext, tool } = await load('@openai/agents')
      const made = tool({ name: 'forecast', description, parameters: await input(), execute: forecast })
      const context = new RunContext()
      return times(() => made.invoke(context, text))
    },
  },
  langgraph: {
    title: 'LangChain: tool.invoke',
    async open() {
      const { tool } = await load('langchain')
      const made = tool(forecast, { name: 'forecast', description, schema: await input() })
      return times(() => made.invoke(args))
    },
  },
  mastra: {
    title: '@mastra/core: tool.execute',
    async open() {
      const { createTool } = await load('@mastra/core/tools')
      const execute = async (/** @type {any} */ given) => forecast(given)
      const made = createTool({ id: 'forecast', description, inputSchema: await input(), execute })
      return times(() => made.execute(args, {}))
    },
  },
  strands: {
    title: '@strands-agents/sdk: tool.invoke',
    async open() {
      const { tool } = await load('@strands-agents/sdk')
      const made = tool({ name: 'forecast', description, inputSchema: await input(), callback: forecast })
      return times(() => made.invoke(args))
    },
  },
  adk: {
    title: '@google/adk: tool.runAsync',
    async open() {
      const { FunctionTool } = await load('@google/adk')
      const made = new FunctionTool({
        name: 'forecast',
        description,
        parameters: await input(),
        execute: forecast,
      })
      return times(() => made.runAsync({ args, toolContext: undefined }))
    },
  },
  ai: {
    title: 'ai',
    cannot: 'tool.execute is the function itself; arguments are checked inside the loop alone',
  },
  pi: {
    title: 'pi-agent-core',
    cannot: 'tool.execute is the function itself; arguments are checked inside the loop alone',
  },
  tanstack: {
    title: '@tanstack/ai',
    cannot: 'tool.execute is the function itself; arguments are checked inside the loop alone',
  },
  voltagent: {
    title: '@voltagent/core',
    cannot: 'tool.execute is the function itself; arguments are checked inside the loop alone',
  },
}
