import { instructions, load, toolDescription } from './contract.mjs'

const packages = ['@tanstack/ai', '@tanstack/ai-openai', 'zod']

/** @type {import('./contract.mjs').Peer} */
export const peer = {
  title: '@tanstack/ai, chat',
  packages,
  cannot: { plain: 'its loop streams from the model even when it gives the text as a whole' },
  async open({ url, read, rounds }) {
    const [{ chat, maxIterations, toolDefinition }, { createOpenaiChatCompletions }, { z }] =
      await Promise.all(packages.map(load))
    const adapter = createOpenaiChatCompletions('gpt-4o', 'none', { baseURL: url })
    const inputSchema = z.object({ file_path: z.string() })
    const tool = toolDefinition({ name: 'read', description: toolDescription, inputSchema }).server(read)
    return {
      conversation(history) {
        /** @type {unknown[]} */
        const messages = [...history]
        return {
          async ask(prompt, { onText }) {
            messages.push({ role: 'user', content: prompt })
            let text = ''
            const parts = chat({
              adapter,
              messages,
              systemPrompts: [instructions],
              tools: [tool],
              agentLoopStrategy: maxIterations(rounds + 2),
            })
            for await (const part of parts) {
              if (part.type === 'RUN_ERROR') throw new Error(part.message ?? JSON.stringify(part))
              if (part.type === 'TEXT_MESSAGE_START') text = ''
              if (part.type !== 'TEXT_MESSAGE_CONTENT') continue
              text += part.delta
              onText?.(part.delta)
            }
            messages.push({ role: 'assistant', content: text })
            return text
          },
        }
      },
    }
  },
}
