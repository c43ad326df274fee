import { instructions, load, toolDescription } from './contract.mjs'

const packages = ['@earendil-works/pi-agent-core']

/** @type {import('./contract.mjs').Peer} */
export const peer = {
  title: 'pi-agent-core',
  packages,
  cannot: { plain: 'it always streams' },
  async open({ url, read }) {
    const [{ Agent }] = await Promise.all(packages.map(load))
    const model = {
      id: 'm',
      name: 'm',
      api: 'openai-completions',
      provider: 'bench',
      baseUrl: url,
      reasoning: false,
      input: ['text'],
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
      contextWindow: 100_000_000,
      maxTokens: 4096,
    }
    const usage = {
      input: 0,
      output: 0,
      cacheRead: 0,
      cacheWrite: 0,
      totalTokens: 0,
      cost: { ...model.cost, total: 0 },
    }
    const tool = {
      name: 'read',
      label: 'Read',
      description: toolDescription,
      parameters: { type: 'object', properties: { file_path: { type: 'string' } }, required: ['file_path'] },
      execute: async (/** @type {string} */ _id, /** @type {{ file_path: string }} */ args) => ({
        content: [{ type: 'text', text: await read(args) }],
        details: undefined,
      }),
    }
    return {
      conversation(history) {
        const messages = history.map(({ role, content }) =>
          role === 'user'
            ? { role, content, timestamp: 1 }
            : {
                role,
                content: [{ type: 'text', text: content }],
                api: model.api,
                provider: model.provider,
                model: 'm',
                usage,
                stopReason: 'stop',
                timestamp: 1,
              },
        )
        const agent = new Agent({
          initialState: { systemPrompt: instructions, model, tools: [tool], messages, thinkingLevel: 'off' },
          getApiKey: () => 'none',
        })
        return {
          async ask(prompt, { onText }) {
            const leave = agent.subscribe((/** @type {any} */ event) => {
              if (event.type === 'message_update' && event.assistantMessageEvent.type === 'text_delta')
                onText?.(event.assistantMessageEvent.delta)
            })
            await agent.prompt(prompt)
            leave()
            if (agent.state.errorMessage) throw new Error(agent.state.errorMessage)
            return agent.state.messages.at(-1).content[0]?.text
          },
        }
      },
    }
  },
}
