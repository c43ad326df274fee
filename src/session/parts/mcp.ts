import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { parseCommand } from '../../commands/index.js'
import { onAbort } from '../../loop/on-abort.js'
import type { McpFile, McpServerStatus } from '../../mcp/host-types.js'
import type {
  KnownOffer,
  McpServer,
  McpServerParts,
  McpServerSpec,
  McpServers,
  OfferedPrompt,
} from '../../mcp/index.js'
import { serverLabel, toolId } from '../../mcp/names.js'
import type { AnyGovernedTool, AnyTool } from '../../tool/contract.js'
import { messageOf } from '../../tool/errors.js'
import { visibleText } from '../../toolbox/untrusted-text.js'
import type { SessionCore } from '../core.js'
import type { EngineParts } from '../engine-parts.js'
import type { SessionPart } from '../part.js'
import type { RunRequest } from '../request.js'

/** How long the first run waits for servers to start. The tools of a server that takes longer are there from a later run on. */
const patienceMs = 10_000

/** What the servers of the configuration offered when the agent last asked them, with the code that makes tools of it. */
export type KnownServers = {
  readonly module: Pick<typeof import('../../mcp/index.js'), 'McpServers' | 'readServer'>
  readonly offers: ReadonlyMap<string, KnownOffer>
}

/** The servers of a session: nothing is loaded before one is used. */
export const mcpPart: SessionPart<SessionServers> = {
  name: 'mcp',
  make: (core) => new SessionServers(core),
  close: (servers) => servers.close(),
}

/** Before the model is asked: servers that are configured are connected, lost ones tried again, and what changed is shown. */
export async function prepareServers(core: SessionCore, signal: AbortSignal): Promise<void> {
  if (core.peekPart(mcpPart) !== undefined || mayHaveServers(core)) await core.part(mcpPart).prepare(signal)
}

/** Whether a request may stand for a prompt of a server. */
export function namesServerPrompt({ verbatim, text }: RunRequest): boolean {
  return !verbatim && parseCommand(text)?.name.startsWith('mcp__') === true
}

/** A prompt of a server in place of the command that names it. */
export async function withServerPrompt(
  core: SessionCore,
  request: RunRequest,
  signal: AbortSignal,
): Promise<RunRequest> {
  const command = parseCommand(request.text)
  if (command === undefined) return request
  await prepareServers(core, signal)
  const text = await core.peekPart(mcpPart)?.promptText(command.name, command.args, signal)
  if (text === undefined) return request
  const [, ...attachments] = request.message?.content ?? []
  return {
    ...request,
    message: { role: 'user', content: [{ type: 'text', text }, ...attachments] },
    // What a server wrote is talk for the model, never a command.
    verbatim: true,
  }
}

/** For the slash commands: those that are connected. */
export function serverCounts(core: SessionCore): { readonly name: string; readonly toolCount: number }[] {
  const known = core.peekPart(mcpPart)?.status() ?? []
  return known.filter(({ connected }) => connected).map(({ name, toolCount }) => ({ name, toolCount }))
}

/** Every server, once those that are configured had their time to start. */
export async function serversNow(core: SessionCore, signal: AbortSignal): Promise<McpServerStatus[]> {
  await prepareServers(core, signal)
  return core.peekPart(mcpPart)?.status() ?? []
}

/** The tool of a server that has not started yet, or is down: a call of it waits for the server, or gets the reason why it cannot be used. */
export function awaitedTool(parts: Pick<EngineParts, 'part'>, name: string): AnyTool | undefined {
  return name.startsWith('mcp__') ? parts.part(mcpPart).awaited(name) : undefined
}

/** What the host says about its servers, for the model. The same for the whole session, whichever of them are connected. */
export function serversSection(core: SessionCore): string[] {
  const { options, mcpServers = [] } = core.parts
  const described = [...listed(options.mcpServers), ...mcpServers].flatMap(descriptionIn)
  const lines = new Map([...described].reverse())
  for (const { label, description } of core.peekPart(mcpPart)?.specs() ?? [])
    if (description !== undefined) lines.set(label, description)
  if (lines.size === 0) return []
  const shown = [...lines].map(([label, text]) => `- mcp__${label}__*: ${visibleText(text).slice(0, 4_000)}`)
  return [`# Tools of MCP servers\n${shown.join('\n')}`]
}

/** Undefined members of what was checked before are servers without one. */
function descriptionIn(given: object): [string, string][] {
  const { name, description, enabled } = given as Readonly<Record<string, unknown>>
  const label = typeof name === 'string' ? serverLabel(name) : undefined
  if (label === undefined || enabled === false || typeof description !== 'string') return []
  return description.trim() === '' ? [] : [[label, description.trim()]]
}

function mayHaveServers({ parts }: SessionCore): boolean {
  // A subagent has the tools that its parent lends it.
  if (parts.parent !== undefined) return false
  if (namesOf(parts.options.mcpServers) > 0 || (parts.mcpServers ?? []).length > 0) return true
  // Without a trip to another thread: every session asks, and mostly nothing is there.
  return lstatSync(join(parts.root, '.mcp.json'), { throwIfNoEntry: false }) !== undefined
}

function namesOf(servers: SessionCore['parts']['options']['mcpServers']): number {
  return servers === undefined ? 0 : Object.keys(servers).length
}

/** Connects the servers with the shelf, the commands and the person of one session. */
class SessionServers {
  readonly #core: SessionCore
  #loading: Promise<McpServers> | undefined
  #servers: McpServers | undefined
  #inherited: readonly McpServerSpec[] = []
  #begun: Promise<unknown> | undefined
  /** What we have put on the shelf. */
  readonly #shelved = new Map<string, AnyGovernedTool>()
  readonly #commands = new Set<string>()
  /** Servers that were added and did not start. They are listed, and not tried again. */
  readonly #failed = new Map<string, McpServerStatus>()
  #stale = false
  #slowTold = false

  constructor(core: SessionCore) {
    this.#core = core
    const { knownServers } = core.parts
    if (knownServers !== undefined) this.#begin(knownServers)
  }

  /** Shows the tools of servers that the agent has asked before, without a connection. */
  #begin({ module, offers }: KnownServers): void {
    this.#servers = this.#makeNow(module)
    for (const server of this.#servers.all()) {
      const known = this.#inherited.includes(server.spec) ? offers.get(server.spec.label) : undefined
      if (known !== undefined) server.begin(known)
    }
    this.#show()
  }

  async prepare(signal: AbortSignal): Promise<void> {
    const servers = await this.#load()
    const lost = servers.all().filter(({ isDue }) => isDue)
    // Once: who is not there after that is not waited for again.
    this.#begun ??= patiently(Promise.all(servers.all().map((server) => this.#connect(server))), signal)
    await this.#begun
    if (!signal.aborted) this.#tellSlow(servers)
    if (lost.length > 0) await patiently(Promise.all(lost.map((server) => this.#restore(server))), signal)
    if (this.#stale) this.#show()
  }

  /** Starts a server and shows its tools at once. One that does not start is listed as down, and not tried again. */
  async add(given: unknown): Promise<number> {
    this.#core.assertOpen()
    const servers = await this.#load()
    const { readServer } = await import('../../mcp/index.js')
    const server = servers.addInFront(readServer(given), (spec) => this.#inherited.includes(spec))
    const { name, label } = server.spec
    this.#failed.delete(label)
    try {
      if (server.spec.enabled) await server.connect()
    } catch (error) {
      this.#tell(server)
      const status = server.status()
      await servers.remove(name)
      // One of the configuration that stands in its place again says for itself how it is.
      if (servers.find(label) === undefined) this.#failed.set(label, status)
      throw error
    }
    this.#tell(server)
    this.#show()
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
        this.#show()
        return tool
      },
    }
  }

  async remove(name: string): Promise<boolean> {
    const servers = await this.#load()
    const [failed] = [...this.#failed].find(([label, status]) => label === name || status.name === name) ?? []
    if (failed !== undefined) return this.#failed.delete(failed)
    const removed = await servers.remove(name)
    this.#show()
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

  /** Reads the lists again, of one server or of all that have been used, and connects those that were lost. */
  async refresh(name?: string): Promise<void> {
    const servers = await this.#load()
    const all = name === undefined ? servers.all().filter(({ spec }) => spec.enabled) : [servers.get(name)]
    const ended = await Promise.allSettled(all.map((server) => server.refresh()))
    this.#show()
    const failed = ended.find((one) => one.status === 'rejected')
    if (name !== undefined && failed !== undefined) throw failed.reason
  }

  /** At once where the servers are there: a caller need not wait before it looks for idle ones. */
  async touch(name: string): Promise<void> {
    const servers = this.#servers ?? (await this.#load())
    servers.get(name).touch()
  }

  async disconnectIdle(thresholdMs: number): Promise<string[]> {
    return (await this.#servers?.disconnectIdle(thresholdMs)) ?? []
  }

  async file(): Promise<McpFile | undefined> {
    const { readMcpFile } = await import('../../mcp/index.js')
    const file = await readMcpFile(this.#fileOptions())
    if (file === undefined) return undefined
    const { specs: _specs, text: _text, ...shown } = file
    return shown
  }

  async confirmFile(confirmation: string): Promise<void> {
    const { confirmMcpFile } = await import('../../mcp/index.js')
    const servers = await this.#load()
    await confirmMcpFile(this.#fileOptions(), confirmation)
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
    const servers = this.#servers ?? this.#makeNow(await import('../../mcp/index.js'))
    await this.#takeFile(servers)
    this.#servers = servers
    return servers
  }

  #makeNow({ McpServers, readServer }: KnownServers['module']): McpServers {
    const { options, mcpServers = [] } = this.#core.parts
    const servers = new McpServers((spec) => this.#partsFor(spec))
    for (const given of listed(options.mcpServers)) servers.add(readServer(given))
    this.#inherited = mcpServers.map((given) => readServer(given))
    servers.inherit(this.#inherited)
    return servers
  }

  /** A file that came with the workspace starts nothing until the user has said so (SEC-139). */
  async #takeFile(servers: McpServers): Promise<void> {
    const { readMcpFile } = await import('../../mcp/index.js')
    const report = (message: string): void => this.#core.emit({ type: 'notice', source: 'mcp', message })
    const file = await readMcpFile(this.#fileOptions()).catch((error: unknown) => report(messageOf(error)))
    if (file === undefined) return
    if (!file.confirmed) {
      this.#core.emit({
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

  #fileOptions(): { root: string; userDir: string; env: Readonly<Record<string, string>> } {
    const { root, userDir, options } = this.#core.parts
    return { root, userDir, env: options.env ?? {} }
  }

  #partsFor({ name }: McpServerSpec): McpServerParts {
    const core = this.#core
    const { root, options } = core.parts
    const { onQuestion, mcp } = options
    const path = process.env['PATH']
    return {
      name,
      roots: [root, ...(options.roots ?? [])],
      startServer: async (program) => (await core.engine()).workspace.startServer(program),
      // Where the person's programs are is no secret, and most servers are started through one of them.
      ...(path !== undefined && { path }),
      ...(onQuestion !== undefined && {
        question: async (questions) => {
          core.emit({ type: 'user_question', questions })
          return onQuestion(questions)
        },
      }),
      ...(mcp?.sampling !== undefined && { sampling: mcp.sampling }),
      ...(mcp?.signIn !== undefined && { signIn: mcp.signIn }),
      changed: () => {
        this.#stale = true
      },
      now: core.now,
    }
  }

  async #connect(server: McpServer): Promise<void> {
    if (!server.spec.enabled || server.isConnected) return
    await this.#restore(server)
  }

  async #restore(server: McpServer): Promise<void> {
    await server.restore()
    this.#tell(server)
  }

  #tell(server: McpServer): void {
    const { name, error, problems = [] } = server.status()
    const about = (message: string): void =>
      this.#core.emit({ type: 'notice', source: `mcp ${name}`, message })
    if (error !== undefined) about(`mcp server ${name} is unavailable: ${error}`)
    for (const problem of problems) about(`mcp server ${name}: ${problem}`)
  }

  /** Says once which servers a run begins without. */
  #tellSlow(servers: McpServers): void {
    if (this.#slowTold) return
    this.#slowTold = true
    for (const server of servers.all()) {
      const { name, state } = server.status()
      const message = `mcp server ${name} has not started within ${patienceMs / 1_000} s: the run begins without its tools`
      if (state === 'connecting') this.#core.emit({ type: 'notice', source: `mcp ${name}`, message })
    }
  }

  /** Puts what the servers offer now on the shelf: what stays keeps its place, what is new stands behind it. */
  #show(): void {
    this.#stale = false
    const { shelf } = this.#core
    const servers = this.#servers?.all() ?? []
    const offered = new Set(servers.flatMap(({ tools }) => tools.map(({ name }) => name)))
    for (const name of [...this.#shelved.keys()])
      if (!offered.has(name)) {
        shelf.remove(name)
        this.#shelved.delete(name)
      }
    for (const { tools } of servers) {
      const fresh = tools.filter((tool) => this.#shelved.get(tool.name) !== tool && this.#isFree(tool.name))
      for (const tool of fresh) this.#shelved.set(tool.name, tool)
      shelf.addAll(fresh)
    }
    this.#showPrompts(servers.flatMap((server) => server.prompts.map((prompt) => ({ server, prompt }))))
  }

  /** A tool of the host's own that has the name already keeps it. */
  #isFree(name: string): boolean {
    if (this.#shelved.has(name) || this.#core.shelf.get(name) === undefined) return true
    const message = `The tool "${name}" is there already: the server's own is left out.`
    this.#core.emit({ type: 'notice', source: 'mcp', message })
    return false
  }

  #showPrompts(offered: readonly { readonly server: McpServer; readonly prompt: OfferedPrompt }[]): void {
    const { commands } = this.#core
    for (const name of this.#commands) commands.unregister(name)
    this.#commands.clear()
    for (const { server, prompt } of offered) {
      const words = prompt.arguments.map(({ name, required }) => (required ? `<${name}>` : `[${name}]`))
      const description = [prompt.description, ...words].join(' ').trim()
      commands.register(
        prompt.command,
        description,
        (args, _, { signal }) => server.prompt(prompt, args, signal),
        60_000,
      )
      this.#commands.add(prompt.command)
    }
  }
}

function listed(servers: SessionCore['parts']['options']['mcpServers']): readonly object[] {
  if (servers === undefined) return []
  return Array.isArray(servers)
    ? servers
    : Object.entries(servers).map(([name, given]) => ({ ...given, name }))
}

/** Until it is done, or for as long as a person would wait, or until nobody does. */
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
