import type { FeatureContext } from '../feature/feature-context.js'
import { onAbort } from '../loop/on-abort.js'
import type { AnyGovernedTool, AnyTool } from '../tool/contract.js'
import { messageOf } from '../tool/errors.js'
import { McpError } from './errors.js'
import type { McpFile, McpSamplingHandler, McpServerStatus, McpSignIn } from './host-types.js'
import type {
  KnownOffer,
  McpServer,
  McpServerParts,
  McpServerSpec,
  McpServers,
  OfferedPrompt,
} from './index.js'
import { toolId } from './names.js'
import { listServers, type McpServerOptions } from './server-options.js'

/**
 * How long the first run waits for servers to start. The tools of a slower server are available from a later run on.
 */
const patienceMs = 10_000

export type McpFeatureOptions = {
  /** MCP servers whose tools the session has, by name or as a list; connected with the first run. */
  readonly mcpServers?: Readonly<Record<string, Omit<McpServerOptions, 'name'>>> | readonly McpServerOptions[]
  /** What MCP servers can use of the host. */
  readonly mcp?: {
    /** Answers a server's request to a model. Absent: sampling is reported to servers as not supported. */
    readonly sampling?: McpSamplingHandler
    readonly signIn?: McpSignIn
  }
}

/** What the configured servers offered when the agent last asked them, with the code that creates tools from it. */
export type KnownServers = {
  readonly module: Pick<typeof import('./index.js'), 'McpServers' | 'readServer'>
  readonly offers: ReadonlyMap<string, KnownOffer>
}

/** What the agent passes to its sessions. */
export type McpSetup = {
  /** The MCP servers of the configuration; servers of the options take precedence. */
  readonly mcpServers?: readonly object[] | undefined
  /** What those servers offered when the agent last asked them. */
  readonly knownServers?: KnownServers | undefined
}

export type McpSession = FeatureContext<
  McpFeatureOptions & {
    readonly env?: Readonly<Record<string, string>>
    readonly roots?: readonly string[]
  },
  McpSetup
>

/** Connects MCP servers with the tools, the commands and the user of one session. */
export class SessionServers {
  readonly #session: McpSession
  #loading: Promise<McpServers> | undefined
  #servers: McpServers | undefined
  #inherited: readonly McpServerSpec[] = []
  #begun: Promise<unknown> | undefined
  /** The tools that this feature added to the session. */
  readonly #added = new Map<string, AnyGovernedTool>()
  readonly #commands = new Set<string>()
  /** Servers that were added and did not start. They are listed and not retried. */
  readonly #failed = new Map<string, McpServerStatus>()
  #stale = false
  #slowReported = false

  constructor(session: McpSession) {
    this.#session = session
    const { knownServers } = session.setup
    if (knownServers !== undefined) this.#begin(knownServers)
  }

  /** Adds the tools of servers that the agent has asked before, without a connection. */
  #begin({ module, offers }: KnownServers): void {
    this.#servers = this.#makeNow(module)
    for (const server of this.#servers.all()) {
      const known = this.#inherited.includes(server.spec) ? offers.get(server.spec.label) : undefined
      if (known !== undefined) server.begin(known)
    }
    this.#update()
  }

  async prepare(signal: AbortSignal): Promise<void> {
    const servers = await this.#load()
    const lost = servers.all().filter(({ isDue }) => isDue)
    // Once: a server that has not started by then is not waited for again.
    this.#begun ??= patiently(Promise.all(servers.all().map((server) => this.#connect(server))), signal)
    await this.#begun
    if (!signal.aborted) this.#reportSlow(servers)
    if (lost.length > 0) await patiently(Promise.all(lost.map((server) => this.#restore(server))), signal)
    if (this.#stale) this.#update()
  }

  /** Starts a server and offers its tools at once. A server that does not start is listed as down and not retried. */
  async add(given: unknown): Promise<number> {
    this.#session.assertOpen()
    const servers = await this.#load()
    const { readServer } = await import('./index.js')
    const server = servers.addInFront(readServer(given), (spec) => this.#inherited.includes(spec))
    const { name, label } = server.spec
    this.#failed.delete(label)
    try {
      if (server.spec.enabled) await server.connect()
    } catch (error) {
      this.#report(server)
      const status = server.status()
      await servers.remove(name)
      // A server of the configuration with the same name is active again and has its own status.
      if (servers.find(label) === undefined) this.#failed.set(label, status)
      throw error
    }
    this.#report(server)
    this.#update()
    return server.tools.length
  }

  awaited(name: string): AnyTool | undefined {
    const server = this.#servers?.all().find(({ spec }) => name.startsWith(toolId(spec.label, '')))
    if (server === undefined || server.isConnected) return undefined
    return {
      name,
      definition: () => ({ name, description: '', parameters: { type: 'object' } }),
      call: () => Promise.reject(new TypeError(`"${name}" is not known yet.`)),
      current: async () => {
        const tool = await server.toolWhenReady(name)
        this.#update()
        return tool
      },
    }
  }

  async remove(name: string): Promise<boolean> {
    const servers = await this.#load()
    const [failed] = [...this.#failed].find(([label, status]) => label === name || status.name === name) ?? []
    if (failed !== undefined) return this.#failed.delete(failed)
    const removed = await servers.remove(name)
    this.#update()
    return removed
  }

  async list(): Promise<McpServerStatus[]> {
    await this.#load()
    return this.status()
  }

  status(): McpServerStatus[] {
    return [...(this.#servers?.status() ?? []), ...this.#failed.values()]
  }

  specs(): readonly McpServerSpec[] {
    return this.#servers?.all().map(({ spec }) => spec) ?? []
  }

  /** Reads the lists again, of one server or of all that were used, and reconnects those that were lost. */
  async refresh(name?: string): Promise<void> {
    const servers = await this.#load()
    const all = name === undefined ? servers.all().filter(({ spec }) => spec.enabled) : [servers.get(name)]
    const ended = await Promise.allSettled(all.map((server) => server.refresh()))
    this.#update()
    const failed = ended.find((one) => one.status === 'rejected')
    if (name !== undefined && failed !== undefined) throw failed.reason
  }

  /** Takes effect synchronously if the servers are loaded, so that a caller can check for idle ones right after. */
  async touch(name: string): Promise<void> {
    const servers = this.#servers ?? (await this.#load())
    servers.get(name).touch()
  }

  async disconnectIdle(thresholdMs: number): Promise<string[]> {
    return (await this.#servers?.disconnectIdle(thresholdMs)) ?? []
  }

  async file(): Promise<McpFile | undefined> {
    const { readMcpFile } = await import('./index.js')
    const options = this.#fileOptions()
    const file = options && (await readMcpFile(options))
    if (file === undefined) return undefined
    const { specs: _specs, text: _text, ...shown } = file
    return shown
  }

  async confirmFile(confirmation: string): Promise<void> {
    const { confirmMcpFile } = await import('./index.js')
    const servers = await this.#load()
    const options = this.#fileOptions()
    if (options === undefined)
      throw new McpError(
        'mcp_config',
        'The workspace of this session is not a directory of this machine, so it has no file of MCP servers to confirm.',
      )
    await confirmMcpFile(options, confirmation)
    await this.#takeFile(servers)
    this.#begun = undefined
  }

  async promptText(command: string, args: string, signal: AbortSignal): Promise<string | undefined> {
    const found = this.#servers?.prompts().find(({ prompt }) => prompt.command === command)
    return found?.server.prompt(found.prompt, args, signal)
  }

  async close(): Promise<void> {
    const servers = await this.#loading?.catch(() => undefined)
    await (servers ?? this.#servers)?.close()
  }

  #load(): Promise<McpServers> {
    this.#loading ??= this.#make().catch((error: unknown) => {
      this.#loading = undefined
      throw error
    })
    return this.#loading
  }

  async #make(): Promise<McpServers> {
    const servers = this.#servers ?? this.#makeNow(await import('./index.js'))
    await this.#takeFile(servers)
    this.#servers = servers
    return servers
  }

  #makeNow({ McpServers, readServer }: KnownServers['module']): McpServers {
    const { options, setup } = this.#session
    const servers = new McpServers((spec) => this.#partsFor(spec))
    for (const given of listServers(options.mcpServers)) servers.add(readServer(given))
    this.#inherited = (setup.mcpServers ?? []).map((given) => readServer(given))
    servers.inherit(this.#inherited)
    return servers
  }

  /** Servers of a file that came with the workspace are not started until the user has confirmed it (SEC-139). */
  async #takeFile(servers: McpServers): Promise<void> {
    const { readMcpFile } = await import('./index.js')
    const report = (message: string): void => this.#session.emit({ type: 'notice', source: 'mcp', message })
    const options = this.#fileOptions()
    if (options === undefined) return
    const file = await readMcpFile(options).catch((error: unknown) => report(messageOf(error)))
    if (file === undefined) return
    if (!file.confirmed) {
      this.#session.emit({
        type: 'notice',
        source: 'mcp',
        message: `${file.path} came with the workspace and is not confirmed: its servers are not used.`,
        code: 'mcp_file_unconfirmed',
      })
      return
    }
    for (const problem of file.problems) report(`${file.path}: ${problem}`)
    for (const spec of file.specs) if (servers.find(spec.label) === undefined) servers.add(spec)
  }

  /** The location of the project's server file; undefined when the workspace is not on this machine. */
  #fileOptions(): { root: string; userDir: string; env: Readonly<Record<string, string>> } | undefined {
    const { projectRoot: root, userDir, options } = this.#session
    return root === undefined ? undefined : { root, userDir, env: options.env ?? {} }
  }

  #partsFor({ name }: McpServerSpec): McpServerParts {
    const session = this.#session
    const { root, options } = session
    const { mcp } = options
    const { ask } = session.questions
    const path = process.env['PATH']
    return {
      name,
      roots: [root, ...(options.roots ?? [])],
      startServer: async (program) => (await session.engine.open()).workspace.startServer(program),
      // The user's PATH is not a secret, and most servers are started through a program that is found there.
      path,
      ...(ask !== undefined && {
        question: (questions, signal = session.signal) => ask(questions, undefined, { signal }),
      }),
      sampling: mcp?.sampling,
      signIn: mcp?.signIn,
      changed: () => {
        this.#stale = true
      },
      now: () => session.now(),
    }
  }

  async #connect(server: McpServer): Promise<void> {
    if (!server.spec.enabled || server.isConnected) return
    await this.#restore(server)
  }

  async #restore(server: McpServer): Promise<void> {
    await server.restore()
    this.#report(server)
  }

  #report(server: McpServer): void {
    const { name, error, problems = [] } = server.status()
    const about = (message: string): void =>
      this.#session.emit({ type: 'notice', source: `mcp ${name}`, message })
    if (error !== undefined) about(`mcp server ${name} is unavailable: ${error}`)
    for (const problem of problems) about(`mcp server ${name}: ${problem}`)
  }

  /** Reports once which servers a run starts without. */
  #reportSlow(servers: McpServers): void {
    if (this.#slowReported) return
    this.#slowReported = true
    for (const server of servers.all()) {
      const { name, state } = server.status()
      const message = `mcp server ${name} has not started within ${patienceMs / 1_000} s: the run starts without its tools`
      if (state === 'connecting') this.#session.emit({ type: 'notice', source: `mcp ${name}`, message })
    }
  }

  /**
   * Updates the session's tools to what the servers offer now: unchanged ones stay in place, new ones are appended.
   */
  #update(): void {
    this.#stale = false
    const registry = this.#session.tools
    const servers = this.#servers?.all() ?? []
    const offered = new Set(servers.flatMap(({ tools }) => tools.map(({ name }) => name)))
    const withdrawn = [...this.#added.keys()].filter((name) => !offered.has(name))
    registry.removeAll(withdrawn)
    for (const name of withdrawn) this.#added.delete(name)
    for (const { tools } of servers) {
      const fresh = tools.filter((tool) => this.#added.get(tool.name) !== tool && this.#isFree(tool.name))
      for (const tool of fresh) this.#added.set(tool.name, tool)
      registry.addAll(fresh)
    }
    this.#updateCommands(servers.flatMap((server) => server.prompts.map((prompt) => ({ server, prompt }))))
  }

  /** A host tool with this name takes precedence. */
  #isFree(name: string): boolean {
    if (this.#added.has(name) || this.#session.tools.get(name) === undefined) return true
    const message = `The tool "${name}" exists already: the one of the server is skipped.`
    this.#session.emit({ type: 'notice', source: 'mcp', message })
    return false
  }

  #updateCommands(offered: readonly { readonly server: McpServer; readonly prompt: OfferedPrompt }[]): void {
    const commands = this.#session.service('commands')
    for (const name of this.#commands) commands?.unregister(name)
    this.#commands.clear()
    for (const { server, prompt } of offered) {
      const words = prompt.arguments.map(({ name, required }) => (required ? `<${name}>` : `[${name}]`))
      const description = [prompt.description, ...words].join(' ').trim()
      commands?.register(
        prompt.command,
        description,
        (args, _, { signal }) => server.prompt(prompt, args, signal),
        60_000,
      )
      this.#commands.add(prompt.command)
    }
  }
}

/** Waits for the work, at most `patienceMs`, or until the signal is aborted. */
async function patiently(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, patienceMs)
    const undo = onAbort(signal, resolve)
    const done = (): void => {
      clearTimeout(timer)
      undo()
      resolve()
    }
    work.then(done, done)
  })
}
