import type { MethodTable } from '../method.js'
import { RpcError, rpcCodes } from '../rpc-error.js'
import { hostMethodNames } from './host-methods.js'

/**
 * The methods beyond the protocol, for clients that embed Capstan. Their names begin with `_capstan/`. They give the
 * client the permissions of a host, so a process answers them only if it was started for that.
 */
export const extensionMethods: MethodTable = Object.fromEntries(
  hostMethodNames.map((name) => [
    name,
    async (params, { host, signal }) => {
      if (host.hostMethods === undefined)
        throw new RpcError(rpcCodes.methodNotFound, `There is no method ${JSON.stringify(name)}.`)
      return host.hostMethods.handle(name, params, signal)
    },
  ]),
)
