import type { McpFile, McpServerStatus } from '../../mcp/host-types.js'
import type { McpServerOptions, McpTransportName } from '../../mcp/server-options.js'
import type { SupervisorStatus } from '../../supervise/supervisor.js'
import { assertIdleThreshold } from '../idle-threshold.js'
import { mcpPart } from '../parts/mcp.js'
import { supervisorStatus } from '../parts/supervision.js'
import { RecallSurface } from './recall.js'
import { coreOf } from './session-surface.js'

/** Servers that bring further tools. */
export abstract class ConnectionSurface extends RecallSurface {
  /** Starts or reaches an MCP server. Its tools are called `mcp__<name>__<tool>`; gives how many there are. */
  async addMcpServer(server: McpServerOptions): Promise<number>
  /** The same by position. */
  async addMcpServer(
    name: string,
    transport?: McpTransportName,
    command?: string,
    args?: readonly string[],
    url?: string,
    headers?: Readonly<Record<string, string>>,
    env?: Readonly<Record<string, string>>,
    timeoutMs?: number,
  ): Promise<number>
  async addMcpServer(
    name: string | McpServerOptions,
    transport: McpTransportName = 'stdio',
    command?: string,
    args?: readonly string[],
    url?: string,
    headers?: Readonly<Record<string, string>>,
    env?: Readonly<Record<string, string>>,
    timeoutMs?: number,
  ): Promise<number> {
    if (typeof name === 'object') return this.addMcp(name)
    return coreOf(this).part(mcpPart).add({ name, transport, command, args, url, headers, env, timeoutMs })
  }

  /** The same, as an object. */
  async addMcp(server: McpServerOptions): Promise<number> {
    return coreOf(this).part(mcpPart).add(server)
  }

  /** Ends an MCP server and takes its tools away. False when there is none of that name. */
  async removeMcpServer(name: string): Promise<boolean> {
    return coreOf(this).part(mcpPart).remove(name)
  }

  /** The same. */
  async removeMcp(name: string): Promise<boolean> {
    return this.removeMcpServer(name)
  }

  /** Every MCP server of the session and how it is. */
  async mcpStatus(): Promise<McpServerStatus[]> {
    return coreOf(this).part(mcpPart).list()
  }

  /** The same. */
  async mcps(): Promise<McpServerStatus[]> {
    return this.mcpStatus()
  }

  /** Reads again what the servers offer, of one or of all, and connects those that were lost without waiting for their turn. */
  async refreshMcpTools(name?: string): Promise<void> {
    return coreOf(this).part(mcpPart).refresh(name)
  }

  /** The same for all, in a session that has used any of its servers. */
  async refreshUsedMcpTools(): Promise<void> {
    await coreOf(this).peekPart(mcpPart)?.refresh()
  }

  /** Disconnects servers that were not used for this long; their next call connects them again. Returns their names. */
  async disconnectIdleMcp(thresholdMs: number): Promise<string[]> {
    assertIdleThreshold(thresholdMs)
    return (await coreOf(this).peekPart(mcpPart)?.disconnectIdle(thresholdMs)) ?? []
  }

  /** Marks a server as used at this moment, for hosts that reach it by a way that the session does not see. */
  async touchMcp(name: string): Promise<void> {
    return coreOf(this).part(mcpPart).touch(name)
  }

  /** The `.mcp.json` of the workspace, and whether the user has confirmed it. */
  async mcpFile(): Promise<McpFile | undefined> {
    return coreOf(this).part(mcpPart).file()
  }

  /** How its supervisor is doing: a guard that was never asked can be seen here. Null without one. */
  supervisorStatus(): SupervisorStatus | null {
    return supervisorStatus(coreOf(this))
  }

  /** The user has read `.mcp.json` as it is, and its servers may be used, now and in later sessions, until it changes. */
  async confirmMcpFile(confirmation: string): Promise<void> {
    return coreOf(this).part(mcpPart).confirmFile(confirmation)
  }
}
