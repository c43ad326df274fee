import type { McpServeTransport, McpServing } from '../mcp/host-types.js'
import { errorEnvelope } from '../tool/envelope.js'
import type { Session } from './session.js'
import { kernelOf } from './session-class.js'

/** Options of serving a session's tools over MCP. */
export type ServeMcpOptions = {
  /** The tools to offer. Default: those that the session's model is shown, without those of other MCP servers. */
  readonly tools?: readonly string[]
  /** How long active calls can continue after the input has ended, in milliseconds. Default: 10,000; 0: not at all. */
  readonly drainTimeoutMs?: number
}

/**
 * Offers the tools of a session to another agent, as an MCP server. Every call passes the gate like one of a model:
 * rules, watchdog, hooks, approval. The client has none of the host's privileges.
 *
 * @example
 * const serving = await serveMcp(session, 'stdio')
 * await serving.ended
 */
export async function serveMcp(
  session: Session,
  transport: 'stdio' | McpServeTransport = 'stdio',
  options: ServeMcpOptions = {},
): Promise<McpServing> {
  const kernel = kernelOf(session)
  kernel.assertOpen()
  const { serveTools } = await import('../mcp/serve.js')
  const { gate } = await kernel.engine.open()
  await kernel.start(kernel.signal)
  const isOffered = (name: string): boolean =>
    options.tools === undefined
      ? !name.startsWith('mcp__') && name !== 'tool_search'
      : options.tools.includes(name)
  const serving = await serveTools(
    {
      drainTimeoutMs: options.drainTimeoutMs ?? 10_000,
      list: async () => (await kernel.tools.definitions()).filter(({ name }) => isOffered(name)),
      async call(name, args, { signal, progress }) {
        if (kernel.isClosed) return errorEnvelope('The session was closed.')
        if (!isOffered(name)) return errorEnvelope(`The tool "${name}" is not offered here.`)
        const outcome = await gate.call({
          name,
          input: { value: args },
          origin: 'model',
          signal: AbortSignal.any([signal, kernel.signal]),
          progress,
        })
        return outcome.envelope
      },
    },
    transport === 'stdio' ? { input: process.stdin, output: process.stdout } : transport,
  )
  const end = (): void => void serving.close()
  kernel.signal.addEventListener('abort', end, { once: true })
  void serving.ended.then(() => kernel.signal.removeEventListener('abort', end))
  return serving
}
