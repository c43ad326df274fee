import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { parseCommand } from '../../commands/index.js'
import { onAbort } from '../../loop/on-abort.js'
import type { McpFile, McpServerStatus } from '../../mcp/host-types.js'
import type { McpServer, McpServerParts, McpServerSpec, McpServers, OfferedPrompt } from '../../mcp/index.js'
import type { AnyGovernedTool } from '../../tool/contract.js'
import { messageOf } from '../../tool/errors.js'
import type { SessionCore } from '../core.js'
import type { SessionPart } from '../part.js'
import type { RunRequest } from '../request.js'

/** How long the first run waits for servers to come up; those that take longer join a later one. */
const patienceMs = 5_000

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

/** For the slash commands. */
export function serverCounts(core: SessionCore): { readonly name: string; readonly toolCount: number }[] {
  const known = core.peekPart(mcpPart)?.status() ?? []
  return known.filter(({ connected }) => connected).map(({ name, toolCount }) => ({ name, toolCount }))
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
  #stale = false

  constructor(core: SessionCore) {
    this.#core = core
  }

  async prepare(signal: AbortSignal): Promise<void> {
    const servers = await this.#load()
    const lost = servers.all().filter(({ isDue }) => isDue)
    // Once: who is not there after that is not waited for again.
    this.#begun ??= patiently(Promise.all(servers.all().map((server) => this.#begin(server))), signal)
    await this.#begun
    if (lost.length > 0) await patiently(Promise.all(lost.map((server) => this.#restore(server))), signal)
    if (this.#stale) this.#show()
  }

  /** Starts a server and shows its tools at once. One that does not start is not kept. */
  async add(given: unknown): Promise<number> {
    this.#core.assertOpen()
    const servers = await this.#load()
    const { readServer } = await import('../../mcp/index.js')
    const server = servers.addInFront(readServer(given), (spec) => this.#inherited.includes(spec))
    try {
      if (server.spec.enabled) await server.connect()
    } catch (error) {
      await servers.remove(server.spec.name)
      throw error
    }
    this.#tell(server)
    this.#show()
    return server.tools.length
  }

  async remove(name: string): Promise<boolean> {
    const removed = await (await this.#load()).remove(name)
    this.#show()
    return removed
  }

  async list(): Promise<McpServerStatus[]> {
    return (await this.#load()).status()
  }

  status(): McpServerStatus[] {
    return this.#servers?.status() ?? []
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
    await servers?.close()
  }

  #load(): Promise<McpServers> {
    this.#loading ??= this.#make().catch((error: unknown) => {
      this.#loading = undefined
      throw error
    })
    return this.#loading
  }

  async #make(): Promise<McpServers> {
    const { McpServers, readServer } = await import('../../mcp/index.js')
    const { options, mcpServers = [] } = this.#core.parts
    const servers = new McpServers((spec) => this.#partsFor(spec))
    for (const given of listed(options.mcpServers)) servers.add(readServer(given))
    this.#inherited = mcpServers.map((given) => readServer(given))
    servers.inherit(this.#inherited)
    await this.#takeFile(servers)
    this.#servers = servers
    return servers
  }

  /** A file that came with the workspace starts nothing until the user has said so (SEC-139). */
  async #takeFile(servers: McpServers): Promise<void> {
    const { readMcpFile } = await import('../../mcp/index.js')
    const tell = (message: string): void => this.#core.emit({ type: 'notice', source: 'mcp', message })
    const file = await readMcpFile(this.#fileOptions()).catch((error: unknown) => tell(messageOf(error)))
    if (file === undefined) return
    if (!file.confirmed)
      return tell(
        `${file.path} came with the workspace and was not confirmed: its servers are not used. See mcpFile() and confirmMcpFile().`,
      )
    for (const problem of file.problems) tell(`${file.path}: ${problem}`)
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

  async #begin(server: McpServer): Promise<void> {
    if (!server.spec.enabled || server.isConnected) return
    await this.#restore(server)
  }

  async #restore(server: McpServer): Promise<void> {
    await server.restore()
    this.#tell(server)
  }

  #tell(server: McpServer): void {
    const { name, error, problems = [] } = server.status()
    for (const message of [...(error === undefined ? [] : [error]), ...problems])
      this.#core.emit({ type: 'notice', source: `mcp ${name}`, message })
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
      shelf.addTogether(fresh)
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
