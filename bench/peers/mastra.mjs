import { instructions, load, toolDescription } from './contract.mjs'

const packages = ['@mastra/core/agent', '@mastra/core/tools', '@ai-sdk/openai-compatible', 'zod']

/** @type {import('./contract.mjs').Peer} */
export const peer = {
  title: '@mastra/core',
  packages,
  async open({ url, read, rounds }) {
    const [{ Agent }, { createTool }, { createOpenAICompatible }, { z }] = await Promise.all(
      packages.map(load),
    )
    const model = createOpenAICompatible({ name: 'bench', baseURL: url, includeUsage: true })('m')
    const inputSchema = z.object({ file_path: z.string() })
    const execute = async (/** @type {{ file_path: string }} */ args) => read(args)
    const tools = { read: createTool({ id: 'read', description: toolDescription, inputSchema, execute }) }
    const options = { maxSteps: rounds + 2 }
    return {
      conversation(history) {
        const agent = new Agent({ id: 'bench', name: 'bench', instructions, model, tools })
        /** @type {unknown[]} */
        let messages = [...history]
        return {
          async ask(prompt, { stream, onText }) {
            messages = [...messages, { role: 'user', content: prompt }]
            const result = stream
              ? await agent.stream(messages, options)
              : await agent.generate(messages, options)
            if (stream) for await (const text of result.textStream) onText?.(text)
            messages.push(...(await result.response).messages)
            return result.text
          },
        }
      },
    }
  },
}
