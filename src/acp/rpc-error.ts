import { CapstanError, messageOf } from '../tool/errors.js'
import type { JsonObject } from '../tool/json.js'

/** The error codes of JSON-RPC and of the Agent Client Protocol. */
export const rpcCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  requestCancelled: -32800,
  authRequired: -32000,
  notFound: -32002,
} as const

/** An error response, sent or received. `data.code` is Capstan's stable code, if there is one. */
export class RpcError extends Error {
  readonly code: number
  readonly data: JsonObject | undefined

  constructor(code: number, message: string, data?: JsonObject) {
    super(message)
    this.name = 'RpcError'
    this.code = code
    this.data = data
  }
}

export function invalidParams(message: string): RpcError {
  return new RpcError(rpcCodes.invalidParams, message)
}

/** Converts anything that a method throws to an error response. */
export function toRpcError(error: unknown): RpcError {
  if (error instanceof RpcError) return error
  if (!(error instanceof CapstanError)) return new RpcError(rpcCodes.internalError, messageOf(error))
  const data = { code: error.code }
  switch (error.code) {
    case 'session_not_found':
      return new RpcError(rpcCodes.notFound, error.message, data)
    case 'session_option':
    case 'workspace_unusable':
      return new RpcError(rpcCodes.invalidParams, error.message, data)
    case 'model_auth':
      return new RpcError(rpcCodes.authRequired, error.message, data)
    default:
      return new RpcError(rpcCodes.internalError, error.message, data)
  }
}
