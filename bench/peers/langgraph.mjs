import { instructions, load, toolDescription } from './contract.mjs'

const packages = ['langchain', '@langchain/openai', 'zod']

/** @type {import('./contract.mjs').Peer} */
export const peer = {
  title: 'LangGraph, createAgent',
  packages,
  async open({ url, read, rounds }) {
    const [{ createAgent, tool }, { ChatOpenAI }, { z }] = await Promise.all(packages.map(load))
    const schema = z.object({ file_path: z.string() })
    const tools = [tool(read, { name: 'read', description: toolDescription, schema })]
    const model = new ChatOpenAI({
      model: 'm',
      apiKey: 'none',
      configuration: { baseURL: url },
      useResponsesApi: false,
      streamUsage: true,
    })
    const recursionLimit = rounds * 2 + 10
    return {
      conversation(history) {
        const agent = createAgent({ model, tools, systemPrompt: instructions })
        /** @type {unknown[]} */
        let messages = [...history]
        return {
          async ask(prompt, { stream, onText }) {
            messages.push({ role: 'user', content: prompt })
            if (!stream) {
              const result = await agent.invoke({ messages }, { recursionLimit })
              messages = result.messages
              return result.messages.at(-1).content
            }
            let text = ''
            const parts = await agent.stream(
              { messages },
              { recursionLimit, streamMode: ['messages', 'values'] },
            )
            for await (const [mode, part] of parts) {
              if (mode === 'values') {
                messages = part.messages
                text = messages.at(-1).content
              } else if (part[0].getType() === 'ai' && part[0].text) onText?.(part[0].text)
            }
            return text
          },
        }
      },
    }
  },
}
