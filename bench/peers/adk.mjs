import { instructions, load, toolDescription } from './contract.mjs'

const packages = ['@google/adk', 'zod']

/** @type {import('./contract.mjs').Peer} */
export const peer = {
  title: "@google/adk, Gemini's wire",
  packages,
  async open({ url, read, rounds }) {
    process.env['GOOGLE_GEMINI_BASE_URL'] = url.slice(0, -'/v1'.length)
    const [adk, { z }] = await Promise.all(packages.map(load))
    const { FunctionTool, Gemini, InMemoryRunner, LlmAgent, setLogLevel, LogLevel } = adk
    setLogLevel(LogLevel.ERROR)
    const parameters = z.object({ file_path: z.string() })
    const execute = async (/** @type {{ file_path: string }} */ args) => ({ text: await read(args) })
    const model = new Gemini({ model: 'gemini-2.5-flash', apiKey: 'none' })
    const tools = [new FunctionTool({ name: 'read', description: toolDescription, parameters, execute })]
    return {
      conversation(history) {
        const agent = new LlmAgent({ name: 'bench', model, instruction: instructions, tools })
        const runner = new InMemoryRunner({ agent, appName: 'bench' })
        /** @type {any} */
        let session
        const begin = async () => {
          session = await runner.sessionService.createSession({ appName: 'bench', userId: 'one' })
          for (const { role, content } of history)
            await runner.sessionService.appendEvent({
              session,
              event: adk.createEvent({
                author: role === 'user' ? 'user' : 'bench',
                content: { role: role === 'user' ? 'user' : 'model', parts: [{ text: content }] },
              }),
            })
        }
        return {
          async ask(prompt, { stream, onText }) {
            if (session === undefined) await begin()
            let text = ''
            const events = runner.runAsync({
              userId: 'one',
              sessionId: session.id,
              newMessage: { role: 'user', parts: [{ text: prompt }] },
              runConfig: { streamingMode: stream ? 'sse' : undefined, maxLlmCalls: rounds + 2 },
            })
            for await (const event of events) {
              if (event.errorMessage) throw new Error(event.errorMessage)
              const said = (event.content?.parts ?? [])
                .map((/** @type {any} */ part) => part.text ?? '')
                .join('')
              if (stream ? event.partial : said !== '') onText?.(said)
              if (!event.partial && said !== '') text = said
            }
            return text
          },
        }
      },
    }
  },
}
