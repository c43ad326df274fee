import type { MethodTable } from './method.js'
import { invalidParams } from './rpc-error.js'
import { protocolVersion } from './wire.js'

/** The start of a connection: version, capabilities, and who answers. */
export const initializeMethods: MethodTable = {
  async initialize(params, { host }) {
    // The client says its newest version. It gets the one that is spoken here, and decides whether to continue.
    if (!Number.isInteger(params['protocolVersion'])) throw invalidParams('protocolVersion must be a number.')
    host.client.setCapabilities(params['clientCapabilities'])
    return {
      protocolVersion,
      agentInfo: { name: 'capstan', title: 'Capstan', version: host.options.version },
      agentCapabilities: {
        promptCapabilities: { image: true, audio: false, embeddedContext: true },
      },
      authMethods: [],
    }
  },
}
