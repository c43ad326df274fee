// All definitions with every request, by hand; and a session that shows twenty tools and lets the model find the
// others.
import { join } from 'node:path'
import { Agent } from 'capstan'
import { createJsonTool } from 'capstan/tool'
import { bareLoop } from '../loop/bare-loop.mjs'
import { toolParts } from '../synthetic.mjs'
import { runsOf } from './many-tools.mjs'

/** @type {Record<string, import('../peers/sides.mjs').Side>} */
export const sides = {
  fetch: {
    title: 'fetch by hand, all definitions',
    open: async ({ url }) =>
      runsOf(url, (count, plan) => {
        const tools = Array.from({ length: count }, (_, number) => {
          const { name, description, parameters } = toolParts(number)
          return { type: 'function', function: { name, description, parameters: parameters() } }
        })
        return async () => {
          let called = 0
          const read = async () => {
            called++
            return 'done'
          }
          await bareLoop({ url: plan, read, messages: [{ role: 'user', content: 'Do it.' }], tools })
          return called
        }
      }),
  },
  capstan: {
    title: 'capstan: tool_search, rules',
    async open({ url, root, place }) {
      return runsOf(url, async (count, plan) => {
        let called = 0
        const tools = Array.from({ length: count }, (_, number) => {
          const { name, description, parameters } = toolParts(number)
          const execute = () => {
            called++
            return 'done'
          }
          return createJsonTool({ name, description, kind: 'read', parameters: parameters(), execute })
        })
        const agent = await Agent.create(
          {
            defaultModel: 'bench/m',
            // As large as the context window of many models: tools that fit into a tenth of it are not searched for.
            providers: { bench: { baseUrl: `${plan}/v1`, models: { m: { contextTokens: 128_000 } } } },
          },
          { userDir: join(place, 'user'), env: {} },
        )
        return async () => {
          const before = called
          const session = agent.session(root, { tools, permissionPolicy: { allow: ['*'] } })
          const { text } = await session.send('Do it.')
          await session.close()
          if (text !== 'It is done.') throw new Error(text)
          return called - before
        }
      })
    },
  },
}
