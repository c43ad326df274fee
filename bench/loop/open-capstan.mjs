// Capstan as a contender. Here and not among the peers: what lies in a package of its own cannot import this one by its
// name.
import { join } from 'node:path'
import { Agent } from 'capstan'
import { FileSessionStore } from 'capstan/store'
import { hostOptions } from './host-options.mjs'

/**
 * With everything on that makes a session safe: rules, watchdog, a hook, a record in files.
 * @param {import('../peers/contract.mjs').Surroundings} surroundings
 * @param {import('capstan/store').Durability} [durability]
 */
export function openEverything(surroundings, durability) {
  const sessionStore = new FileSessionStore(join(surroundings.place, 'sessions'))
  // As many at once as others take, where it is the host's tool that counts.
  const atOnce = surroundings.hostTool === true && { maxParallelTasks: 20 }
  return openCapstan(surroundings, {
    ...hostOptions,
    ...atOnce,
    sessionStore,
    ...(durability && { durability }),
  })
}

/**
 * Its own `read` and not the host's: the file is judged, contained and bounded.
 * @param {import('../peers/contract.mjs').Surroundings} surroundings
 * @param {import('capstan').SessionOptions} options
 * @param {{ apiKey?: string }} [provider] with a key, every text of the session is searched for it
 * @returns {Promise<import('../peers/contract.mjs').Opened>}
 */
export async function openCapstan(
  { url, root, place, rounds, read, hostTool = false },
  options,
  provider = {},
) {
  const given = hostTool ? await withHostTool(read, options) : options
  const agent = await Agent.create(
    {
      defaultModel: 'bench/m',
      providers: { bench: { ...provider, baseUrl: url, models: { m: { contextTokens: 100_000_000 } } } },
    },
    { userDir: join(place, 'user') },
  )
  return {
    conversation(history) {
      const session = agent.session(root, { ...given, maxToolRounds: rounds + 2 })
      const said = history.map(({ role, content }) => ({
        role,
        content: [{ type: /** @type {const} */ ('text'), text: content }],
      }))
      const before = said.length > 0 ? { history: said } : {}
      return {
        async ask(prompt, { onText }) {
          let text = ''
          for await (const event of await session.stream(prompt, before)) {
            if (event.type === 'error') throw new Error(event.error)
            if (event.type === 'tool_end' && event.isError) throw new Error(event.toolOutput)
            if (event.type === 'turn_start') text = ''
            if (event.type !== 'text_delta') continue
            text += event.text
            onText?.(event.text)
          }
          return text
        },
        close: () => session.close(),
      }
    },
    close: () => agent.close(),
  }
}

/**
 * The host's tool as well, where it is not reading files that counts.
 * @param {(args: { file_path: string }) => Promise<string>} read
 * @param {import('capstan').SessionOptions} options
 * @returns {Promise<import('capstan').SessionOptions>}
 */
async function withHostTool(read, options) {
  const { createJsonTool } = await import('capstan/tool')
  const look = createJsonTool({
    name: 'look',
    description: 'Look at a file.',
    kind: 'read',
    idempotent: true,
    parameters: { type: 'object', properties: { file_path: { type: 'string' } }, required: ['file_path'] },
    execute: (args) => read({ file_path: String(args['file_path']) }),
  })
  const { permissionPolicy: policy = {} } = options
  return {
    ...options,
    tools: [look],
    permissionPolicy: { ...policy, allow: [...(policy.allow ?? []), 'look(*)'] },
  }
}
