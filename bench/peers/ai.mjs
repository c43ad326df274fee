import { instructions, load, toolDescription } from './contract.mjs'

const packages = ['ai', '@ai-sdk/openai-compatible', 'zod']

/** @type {import('./contract.mjs').Peer} */
export const peer = {
  title: 'ai, ToolLoopAgent',
  packages,
  async open({ url, read, rounds }) {
    const [{ ToolLoopAgent, stepCountIs, tool }, { createOpenAICompatible }, { z }] = await Promise.all(
      packages.map(load),
    )
    const provider = createOpenAICompatible({ name: 'bench', baseURL: url, includeUsage: true })
    const inputSchema = z.object({ file_path: z.string() })
    const tools = { read: tool({ description: toolDescription, inputSchema, execute: read }) }
    const make = () =>
      new ToolLoopAgent({ model: provider('m'), instructions, tools, stopWhen: stepCountIs(rounds + 2) })
    return {
      conversation(history) {
        const agent = make()
        /** @type {unknown[]} */
        const messages = [...history]
        return {
          async ask(prompt, { stream, onText }) {
            messages.push({ role: 'user', content: prompt })
            const result = stream ? await agent.stream({ messages }) : await agent.generate({ messages })
            if (stream) for await (const text of result.textStream) onText?.(text)
            messages.push(...(await result.response).messages)
            return result.text
          },
        }
      },
    }
  },
}
