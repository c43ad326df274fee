import type { MethodTable } from './method.js'
import { textIn } from './params.js'
import { invalidParams } from './rpc-error.js'
import { protocolVersion } from './wire.js'

/** Keys are in the environment or in a configuration: signing in only checks that a model is configured. */
const authMethod = {
  id: 'model',
  name: 'A configured language model',
  description:
    'Set ANTHROPIC_API_KEY, OPENAI_API_KEY or the key of another provider in the environment of the editor, start a local model server, or run "capstan init".',
} as const

/** The methods that start a connection: version, capabilities, and sign-in. */
export const initializeMethods: MethodTable = {
  async initialize(params, { host }) {
    // The client sends its newest version. It receives the version of this server and decides whether to continue.
    if (!Number.isInteger(params['protocolVersion'])) throw invalidParams('protocolVersion must be a number.')
    host.client.setCapabilities(params['clientCapabilities'])
    return {
      protocolVersion,
      agentInfo: { name: 'capstan', title: 'Capstan', version: host.options.version },
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: true, audio: false, embeddedContext: true },
        mcpCapabilities: { http: true, sse: true },
        sessionCapabilities: { list: {}, delete: {}, resume: {}, close: {}, additionalDirectories: {} },
        auth: { logout: {} },
      },
      authMethods: [authMethod],
    }
  },

  async authenticate(params, { host }) {
    const id = textIn(params, 'methodId')
    if (id !== authMethod.id) throw invalidParams(`There is no way ${JSON.stringify(id)} to sign in.`)
    await host.signIn()
    return {}
  },

  async logout(_, { host }) {
    await host.signOut()
    return {}
  },
}
