import type { Readable, Writable } from 'node:stream'
import { isToolResultContentArray } from '../tool/content.js'
import type { ToolDefinition } from '../tool/definition.js'
import type { Envelope } from '../tool/envelope.js'
import { isRecord } from '../tool/json.js'
import { serializeToolOutput } from '../tool/serialize.js'
import { StreamChannel } from './channel/stream-channel.js'
import type { McpServeTransport, McpServing } from './host-types.js'

/** The tools that are served, and how they are called. */
export type ServedTools = {
  readonly version?: string
  /** How long calls can continue after the client has ended its input. */
  readonly drainTimeoutMs?: number
  list(): Promise<readonly ToolDefinition[]>
  call(
    name: string,
    args: unknown,
    options: { readonly signal: AbortSignal; readonly progress: (partial: unknown) => void },
  ): Promise<Envelope>
}

/** Serves tools to another agent as an MCP server, over one connection. */
export async function serveTools(
  tools: ServedTools,
  { input, output }: McpServeTransport,
): Promise<McpServing> {
  const { Server } = await import('@modelcontextprotocol/server')
  const server = new Server(
    { name: 'capstan', version: tools.version ?? '0' },
    { capabilities: { tools: {} } },
  )
  // Hosts pass Node streams; the declared type names only the members that are used.
  const channel = new StreamChannel(input as Readable, output as Writable, tools.drainTimeoutMs)
  const leaving = new AbortController()
  let reportEnd: () => void = () => undefined
  const ended = new Promise<void>((resolve) => {
    reportEnd = resolve
  })
  server.setRequestHandler('tools/list', async () => ({
    tools: (await tools.list()).map(({ name, description, parameters }) => ({
      name,
      description,
      inputSchema: { ...parameters, type: 'object' as const },
    })),
  }))
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    const token = mcpReq._meta?.progressToken
    let count = 0
    const progress = (partial: unknown): void => {
      if (token === undefined) return
      const message = serializeToolOutput(partial).slice(0, 4_000)
      void mcpReq
        .notify({
          method: 'notifications/progress',
          params: { progressToken: token, progress: ++count, message },
        })
        .catch(() => undefined)
    }
    // Aborted when the client cancels the call or disconnects.
    const signal = AbortSignal.any([mcpReq.signal, leaving.signal])
    return resultOf(await tools.call(params.name, params.arguments ?? {}, { signal, progress }))
  })
  server.onerror = () => undefined
  server.onclose = () => {
    leaving.abort(new DOMException('the client has disconnected', 'AbortError'))
    reportEnd()
  }
  await server.connect(channel as never)
  return { ended, close: () => server.close() }
}

type Content = { type: 'text'; text: string } | { type: 'image'; data: string; mimeType: string }

function resultOf(envelope: Envelope): {
  content: Content[]
  isError?: boolean
  structuredContent?: Record<string, unknown>
} {
  if (envelope.type === 'error')
    return { content: [{ type: 'text', text: envelope.error_text }], isError: true }
  const { data } = envelope
  if (isToolResultContentArray(data))
    return {
      content: data.map((part) =>
        part.type === 'text'
          ? { type: 'text', text: part.text }
          : { type: 'image', data: part.data, mimeType: part.mediaType ?? 'image/png' },
      ),
    }
  const text = serializeToolOutput(data)
  const more = envelope.metadata.output_path
  return {
    content: [
      {
        type: 'text',
        text: more === undefined ? text : `${text}\n[The output was truncated. output_path: ${more}]`,
      },
    ],
    ...(isRecord(data) && { structuredContent: data }),
  }
}
