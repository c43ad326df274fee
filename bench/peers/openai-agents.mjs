import { instructions, load, toolDescription } from './contract.mjs'

const packages = ['@openai/agents', 'openai', 'zod']

/** @type {import('./contract.mjs').Peer} */
export const peer = {
  title: '@openai/agents',
  packages: ['@openai/agents', 'zod'],
  async open({ url, read, rounds }) {
    const [agents, { default: OpenAI }, { z }] = await Promise.all(packages.map(load))
    const { Agent, OpenAIChatCompletionsModel, run, setTracingDisabled, tool } = agents
    setTracingDisabled(true)
    const client = new OpenAI({ baseURL: url, apiKey: 'none' })
    const parameters = z.object({ file_path: z.string() })
    const tools = [tool({ name: 'read', description: toolDescription, parameters, execute: read })]
    const make = () =>
      new Agent({ name: 'bench', instructions, tools, model: new OpenAIChatCompletionsModel(client, 'm') })
    return {
      conversation(history) {
        const agent = make()
        /** @type {unknown[]} */
        let items = history.map(({ role, content }) =>
          role === 'user'
            ? { role, content }
            : { role, status: 'completed', content: [{ type: 'output_text', text: content }] },
        )
        return {
          async ask(prompt, { stream, onText }) {
            items.push({ role: 'user', content: prompt })
            const result = await run(agent, items, { stream, maxTurns: rounds + 2 })
            if (stream) {
              for await (const text of result.toTextStream()) onText?.(text)
              await result.completed
            }
            items = result.history
            return result.finalOutput
          },
        }
      },
    }
  },
}
