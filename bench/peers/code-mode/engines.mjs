// Code modes that need other versions of their libraries than the other peers.
import { programSide } from '../../ours/programs.mjs'

const load = (/** @type {string} */ name) => import(name)

/** @returns {Promise<import('../sides.mjs').OpenSide>} */
export async function openAi() {
  const [{ experimental_runCodeMode: run }, { tool }, { z }] = await Promise.all(
    ['@ai-sdk/code-mode', 'ai', 'zod'].map(load),
  )
  const inputSchema = z.object({ at: z.number() })
  const echo = tool({
    description: 'Returns its input.',
    inputSchema,
    execute: async (/** @type {unknown} */ args) => args,
  })
  const options = { executionPolicy: { timeoutMs: 60_000, maxBridgeRequests: 100_000 } }
  return programSide('tools.echo', (js) => run({ js, tools: { echo }, options }))
}

/** @returns {Promise<import('../sides.mjs').OpenSide>} */
export async function openTanstack() {
  const [{ createCodeMode }, { createQuickJSIsolateDriver }, { toolDefinition }, { z }] = await Promise.all(
    ['@tanstack/ai-code-mode', '@tanstack/ai-isolate-quickjs', '@tanstack/ai', 'zod'].map(load),
  )
  const at = z.object({ at: z.number() })
  const definition = { name: 'echo', description: 'Returns its input.', inputSchema: at, outputSchema: at }
  const echo = toolDefinition(definition).server(async (/** @type {unknown} */ args) => args)
  const { tool } = createCodeMode({ driver: createQuickJSIsolateDriver(), tools: [echo] })
  return programSide('external_echo', async (typescriptCode) => {
    const { success, result, error } = await tool.execute({ typescriptCode })
    return success ? result : error
  })
}
