// Code modes of other libraries.
import { programSide } from '../../ours/programs.mjs'
import { load } from '../contract.mjs'

const none = 'it has no code mode'

/** @type {Record<string, import('../sides.mjs').Side>} */
export const sides = {
  pi: {
    title: 'pi-codemode, QuickJS in a worker',
    async open() {
      const { CodemodeSandbox } = await load('@earendil-works/pi-codemode')
      const tools = [{ name: 'echo', execute: async (/** @type {unknown} */ args) => args }]
      const sandbox = new CodemodeSandbox({ timeoutMs: 60_000, tools })
      const side = programSide('tools.echo', async (body) => {
        const result = await sandbox.execute(body)
        return result.ok ? result.value : result.error
      })
      return { ...side, close: () => sandbox.close() }
    },
  },
  ai: {
    title: '@ai-sdk/code-mode (of ai 7), QuickJS in a worker',
    open: async () => (await import('../code-mode/engines.mjs')).openAi(),
  },
  tanstack: {
    title: '@tanstack/ai-code-mode, QuickJS on the main thread',
    cannot: {
      calls: 'its QuickJS driver crashes after a few calls one after the other',
      together: 'its QuickJS driver crashes after a few calls one after the other',
    },
    open: async () => (await import('../code-mode/engines.mjs')).openTanstack(),
  },
  mastra: {
    title: '@mastra/core, createCodeMode',
    cannot: 'its runner starts Node with a flag that Node 20 does not have',
  },
  'openai-agents': { title: '@openai/agents', cannot: 'its code interpreter is the provider’s' },
  langgraph: { title: 'LangChain', cannot: none },
  strands: { title: '@strands-agents/sdk', cannot: none },
  voltagent: { title: '@voltagent/core', cannot: none },
  adk: { title: '@google/adk', cannot: 'its code executors are the provider’s, or run without tools' },
}
