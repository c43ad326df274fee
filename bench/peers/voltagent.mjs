import { instructions, load, toolDescription } from './contract.mjs'

const packages = ['@voltagent/core', '@ai-sdk/openai-compatible', 'zod']

/** @type {import('./contract.mjs').Peer} */
export const peer = {
  title: '@voltagent/core',
  packages,
  async open({ url, read, rounds }) {
    // Otherwise it requests the list of models from a server on the internet.
    process.env['VOLTAGENT_AUTO_REFRESH_MODELS'] = 'false'
    const [{ Agent, createTool }, { createOpenAICompatible }, { z }] = await Promise.all(packages.map(load))
    const model = createOpenAICompatible({ name: 'bench', baseURL: url, includeUsage: true })('m')
    const parameters = z.object({ file_path: z.string() })
    const tools = [createTool({ name: 'read', description: toolDescription, parameters, execute: read })]
    return {
      conversation(history) {
        const agent = new Agent({
          name: 'bench',
          instructions,
          model,
          tools,
          memory: false,
          maxSteps: rounds + 2,
        })
        /** @type {unknown[]} */
        const messages = [...history]
        return {
          async ask(prompt, { stream, onText }) {
            messages.push({ role: 'user', content: prompt })
            const options = { maxSteps: rounds + 2 }
            const result = stream
              ? await agent.streamText(messages, options)
              : await agent.generateText(messages, options)
            if (stream) for await (const text of result.textStream) onText?.(text)
            const text = await result.text
            messages.push({ role: 'assistant', content: text })
            return text
          },
        }
      },
    }
  },
}
