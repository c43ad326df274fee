import type { MethodTable } from '../method.js'

/**
 * The methods beyond the protocol, for clients that embed Capstan. Their names begin with `_capstan/`. A method finds
 * an open session with `context.host.session(id)`, and calls the client with `context.host.client`.
 */
export const extensionMethods: MethodTable = {}
