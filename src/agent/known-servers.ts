import type { KnownServers } from '../mcp/session-servers.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { openWorkspace } from '../workspace/open-workspace.js'
import type { McpServerConfig } from './config/index.js'

/**
 * Connects to each MCP server, lists its tools, and disconnects. Sessions that are opened later have these tools from
 * the start, and connect when they use them. Programs run in `root`.
 */
export async function askServers(
  servers: readonly McpServerConfig[],
  root: string,
  signal: AbortSignal,
): Promise<KnownServers> {
  const module = await import('../mcp/index.js')
  const workspace = openWorkspace({ root, onNotice: () => undefined })
  const path = process.env['PATH']
  const ask = async (given: McpServerConfig) => {
    const spec = module.readServer(given)
    const server = new module.McpServer(spec, {
      name: spec.name,
      roots: [root],
      startServer: (program) => workspace.startServer(program),
      ...omitUndefined({ path }),
      changed: () => undefined,
      now: () => 0,
    })
    const stop = (): void => void server.close()
    signal.addEventListener('abort', stop, { once: true })
    if (spec.enabled && !signal.aborted) await server.restore()
    signal.removeEventListener('abort', stop)
    const { known } = server
    await server.close()
    return known === undefined ? [] : [[spec.label, known] as const]
  }
  try {
    return { module, offers: new Map((await Promise.all(servers.map(ask))).flat()) }
  } finally {
    await workspace.close()
  }
}
