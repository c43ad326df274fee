import { instructions, load, toolDescription } from './contract.mjs'

const packages = ['@strands-agents/sdk', '@strands-agents/sdk/models/openai', 'zod']

/** @type {import('./contract.mjs').Peer} */
export const peer = {
  title: '@strands-agents/sdk',
  packages,
  cannot: {
    plain: 'its models always stream',
    parallel: 'of several calls in one streamed answer it keeps one',
  },
  async open({ url, read }) {
    const [{ Agent, NullConversationManager, tool }, { OpenAIModel }, { z }] = await Promise.all(
      packages.map(load),
    )
    const model = new OpenAIModel({
      api: 'chat',
      modelId: 'm',
      apiKey: 'none',
      clientConfig: { baseURL: url },
    })
    const inputSchema = z.object({ file_path: z.string() })
    const tools = [tool({ name: 'read', description: toolDescription, inputSchema, callback: read })]
    return {
      conversation(history) {
        const messages = history.map(({ role, content }) => ({ role, content: [{ text: content }] }))
        const agent = new Agent({
          model,
          tools,
          systemPrompt: instructions,
          printer: false,
          messages,
          conversationManager: new NullConversationManager(),
        })
        return {
          async ask(prompt, { onText }) {
            let text = ''
            for await (const event of agent.stream(prompt)) {
              const inner = event.type === 'modelStreamUpdateEvent' ? event.event : event
              if (inner.type === 'modelMessageStartEvent') text = ''
              if (inner.type === 'modelContentBlockDeltaEvent' && inner.delta.type === 'textDelta') {
                text += inner.delta.text
                onText?.(inner.delta.text)
              }
            }
            return text
          },
        }
      },
    }
  },
}
