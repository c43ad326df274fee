import type { AnyGovernedTool } from '../tool/contract.js'
import { nearestNames, quoteNames } from '../tool/nearest.js'
import { McpError } from './errors.js'
import type { McpServerStatus } from './host-types.js'
import type { OfferedPrompt } from './prompts.js'
import { McpServer, type McpServerParts } from './server.js'
import type { McpServerSpec } from './server-options.js'

/**
 * The servers of one session. Each has its own connections: they are rooted in this workspace and confined to it, and
 * no data of one session can reach another.
 */
export class McpServers {
  readonly #servers = new Map<string, McpServer>()
  /** Inherited servers that a server of the session with the same name replaces, until it is removed. */
  readonly #shadowed = new Map<string, McpServerSpec>()
  readonly #partsFor: (spec: McpServerSpec) => McpServerParts

  constructor(partsFor: (spec: McpServerSpec) => McpServerParts) {
    this.#partsFor = partsFor
  }

  /** Adds servers of the agent's configuration. Servers of the session take precedence. */
  inherit(specs: readonly McpServerSpec[]): void {
    for (const spec of specs)
      if (this.#servers.has(spec.label)) this.#shadowed.set(spec.label, spec)
      else this.add(spec)
  }

  /** Throws when there is a server with this name, or with a name that has the same label (SEC-175). */
  add(spec: McpServerSpec): McpServer {
    const other = this.#servers.get(spec.label)
    if (other !== undefined)
      throw new McpError(
        'mcp_config',
        other.spec.name === spec.name
          ? `There is an MCP server "${spec.name}" already: remove it first.`
          : `The MCP servers "${other.spec.name}" and "${spec.name}" would both be called "${spec.label}": rename one.`,
      )
    const server = new McpServer(spec, this.#partsFor(spec))
    this.#servers.set(spec.label, server)
    return server
  }

  /** Adds a server that takes precedence over an inherited one. */
  addInFront(spec: McpServerSpec, inherited: (spec: McpServerSpec) => boolean): McpServer {
    const other = this.#servers.get(spec.label)
    if (other !== undefined && inherited(other.spec) && other.spec.name === spec.name) {
      this.#servers.delete(spec.label)
      this.#shadowed.set(spec.label, other.spec)
      void other.close()
    }
    return this.add(spec)
  }

  async remove(name: string): Promise<boolean> {
    const server = this.find(name)
    if (server === undefined) return false
    const { label } = server.spec
    this.#servers.delete(label)
    const shadowed = this.#shadowed.get(label)
    this.#shadowed.delete(label)
    if (shadowed !== undefined) this.add(shadowed)
    await server.close()
    return true
  }

  find(name: string): McpServer | undefined {
    return this.all().find(({ spec }) => spec.name === name || spec.label === name)
  }

  get(name: string): McpServer {
    const found = this.find(name)
    if (found !== undefined) return found
    const near = nearestNames(
      name,
      this.all().map(({ spec }) => spec.name),
    )
    const hint = near.length === 0 ? '' : ` Did you mean ${quoteNames(near)}?`
    throw new McpError('mcp_config', `There is no MCP server "${name}".${hint}`)
  }

  all(): McpServer[] {
    return [...this.#servers.values()]
  }

  status(): McpServerStatus[] {
    return this.all().map((server) => server.status())
  }

  tools(): AnyGovernedTool[] {
    return this.all().flatMap(({ tools }) => tools)
  }

  prompts(): { readonly server: McpServer; readonly prompt: OfferedPrompt }[] {
    return this.all().flatMap((server) => server.prompts.map((prompt) => ({ server, prompt })))
  }

  /** Returns the names of the servers that were disconnected. */
  async disconnectIdle(thresholdMs: number): Promise<string[]> {
    const dropped = await Promise.all(
      this.all().map(async (server) =>
        (await server.disconnectIdle(thresholdMs)) ? [server.spec.name] : [],
      ),
    )
    return dropped.flat()
  }

  async close(): Promise<void> {
    await Promise.all(this.all().map((server) => server.close()))
  }
}
