import { messageOf } from '../tool/errors.js'
import { isRecord } from '../tool/json.js'
import { AcpClient } from './acp-client.js'
import { AcpHost } from './acp-host.js'
import { Connection } from './connection.js'
import { extensionMethods } from './extensions/index.js'
import { initializeMethods } from './initialize.js'
import type { MethodTable } from './method.js'
import type { AcpOptions } from './options.js'
import { objectsIn, textIn } from './params.js'
import { readPrompt } from './read-prompt.js'
import { invalidParams, RpcError, rpcCodes } from './rpc-error.js'
import { sessionMethods } from './session-methods.js'

/** A running server of the agent side of the protocol. */
export type AcpServing = {
  /** Resolves when the client has disconnected and all sessions are closed. */
  readonly ended: Promise<void>
  close(): Promise<void>
}

/** The methods for prompts and their cancellation. */
const promptMethods: MethodTable = {
  async 'session/prompt'(params, { host, signal }) {
    const session = host.session(textIn(params, 'sessionId'))
    const request = readPrompt(objectsIn(params, 'prompt'))
    return { stopReason: await session.prompt(request, signal) }
  },
  async 'session/cancel'(params, { host }) {
    host.session(textIn(params, 'sessionId')).cancel()
  },
}

const methods: MethodTable = {
  ...initializeMethods,
  ...sessionMethods,
  ...promptMethods,
  ...extensionMethods,
}

/** Serves the agent side of the Agent Client Protocol over two streams, until the client disconnects. */
export function serveAcp(options: AcpOptions): AcpServing {
  const client = new AcpClient(() => connection)
  const host = new AcpHost(options, client)
  const connection = new Connection({
    input: options.input,
    output: options.output,
    report: (error) => options.report(messageOf(error)),
    async handle(method, params = {}, call) {
      const found = Object.hasOwn(methods, method) ? methods[method] : undefined
      if (found === undefined)
        throw new RpcError(rpcCodes.methodNotFound, `There is no method ${JSON.stringify(method)}.`)
      if (!isRecord(params)) throw invalidParams('The parameters must be an object.')
      return found(params, { ...call, host })
    },
  })
  // At once, because handlers wait for the work that this cancels.
  connection.signal.addEventListener('abort', () => {
    for (const session of host.sessions()) session.cancel()
    host.hostMethods?.close().catch((error: unknown) => options.report(messageOf(error)))
  })
  const ended = connection.closed.then(() => host.closeAll())
  return {
    ended,
    async close() {
      await connection.close()
      await ended
    },
  }
}
