import { Backoff, serverPause } from '../feature/backoff.js'
import type { AnyGovernedTool, ToolCallContext } from '../tool/contract.js'
import { type Envelope, outputEnvelope } from '../tool/envelope.js'
import { messageOf } from '../tool/errors.js'
import { isRecord, type JsonObject } from '../tool/json.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { unlessAborted } from '../tool/unless-aborted.js'
import { visibleLine } from '../toolbox/untrusted-text.js'
import { type Connection, type ConnectionOptions, connect } from './connection.js'
import { describeFailure, failureOf } from './describe-failure.js'
import { McpError, unavailable } from './errors.js'
import type { McpServerFailure, McpServerStatus } from './host-types.js'
import { listAll, listTools, type OfferedTool } from './offered-tools.js'
import { listPrompts, type OfferedPrompt, promptText } from './prompts.js'
import { readCallResult, readResourceResult } from './read-result.js'
import { type Redact, redactorFor } from './secrets.js'
import type { McpServerSpec } from './server-options.js'
import { makeTools, resourceTools, type ServerCalls } from './server-tools.js'

export type McpServerParts = ConnectionOptions & {
  /** Called when tools or prompts have changed. */
  changed(): void
  now(): number
}

/**
 * The minimum time between two reads of a list that the server announces as changed: it may announce changes very
 * often.
 */
const lookAgainMs = 1_000

/** A limit, so that a server that keeps inventing names does not fill the memory. */
const maxEverOffered = 5_000

/** What a server offered, or why it did not start, as found by another connection to it. */
export type KnownOffer =
  | { readonly tools: readonly OfferedTool[]; readonly resources: boolean }
  | { readonly error: string; readonly failure: McpServerFailure }

/** One configured server during a session: connected on demand, and reconnected when the connection was lost. */
export class McpServer implements ServerCalls {
  readonly spec: McpServerSpec
  readonly #parts: McpServerParts
  readonly #redact: Redact
  readonly #backoff = new Backoff(serverPause)
  readonly #closing = new AbortController()
  /** The digest of each tool when it was first offered: an approval by name applies to that definition. */
  readonly #first = new Map<string, string>()
  readonly #made = new Map<string, AnyGovernedTool>()
  #offer: KnownOffer | undefined
  #connection: Connection | undefined
  #connecting: Promise<Connection> | undefined
  #ending: Promise<void> = Promise.resolve()
  #tools: readonly AnyGovernedTool[] = []
  #prompts: readonly OfferedPrompt[] = []
  #problems: readonly string[] = []
  #error: string | undefined
  #failure: McpServerFailure | undefined
  #needsSignIn = false
  #active = 0
  #busy = 0
  /** Set while an announced change has not been read. */
  #look: NodeJS.Timeout | undefined
  #looking: Promise<void> | undefined
  #lookedAt = Number.NEGATIVE_INFINITY

  constructor(spec: McpServerSpec, parts: McpServerParts) {
    this.spec = spec
    this.#parts = parts
    this.#redact = redactorFor(spec)
  }

  get tools(): readonly AnyGovernedTool[] {
    return this.#tools
  }

  get prompts(): readonly OfferedPrompt[] {
    return this.#prompts
  }

  get isConnected(): boolean {
    return this.#connection !== undefined
  }

  /**
   * What the server offered last, or why it did not start; undefined before that, or when a user must sign in first.
   */
  get known(): KnownOffer | undefined {
    if (this.#error === undefined || this.#failure === undefined) return this.#offer
    return this.#needsSignIn ? undefined : { error: this.#error, failure: this.#failure }
  }

  /**
   * Starts with what another connection to the same server found, so that the tools exist before this one connects.
   */
  begin(known: KnownOffer): void {
    if ('error' in known) {
      this.#error = known.error
      this.#failure = known.failure
      return
    }
    this.#offer = known
    this.#takeTools(known)
  }

  /** Whether the connection was lost and a retry is due. */
  get isDue(): boolean {
    return this.spec.enabled && !this.isConnected && this.#error !== undefined && this.#backoff.leftMs === 0
  }

  status(): McpServerStatus {
    const { name, enabled, reach } = this.spec
    const sandbox = this.#connection?.sandbox
    return {
      name,
      connected: this.isConnected,
      toolCount: this.#tools.length,
      state: enabled ? this.#state() : 'disabled',
      confined: reach.by === 'stdio' && reach.sandbox === 'workspace',
      ...omitUndefined({ error: this.#error, failure: this.#failure }),
      ...(this.#error !== undefined && this.#needsSignIn && { needsSignIn: true }),
      ...(this.#problems.length > 0 && { problems: this.#problems }),
      ...omitUndefined({ sandbox }),
    }
  }

  #state(): McpServerStatus['state'] {
    if (this.#connecting !== undefined) return 'connecting'
    if (this.isConnected) return 'connected'
    return this.#error === undefined ? 'idle' : 'down'
  }

  /** Connects, regardless of earlier failures. Concurrent callers wait for the same attempt. */
  connect(): Promise<Connection> {
    const { name, enabled } = this.spec
    if (!enabled) return Promise.reject(unavailable(name, 'it is disabled in the configuration'))
    if (this.#closing.signal.aborted) return Promise.reject(unavailable(name, 'it was removed'))
    if (this.#connection !== undefined) return Promise.resolve(this.#connection)
    this.#connecting ??= this.#open().finally(() => {
      this.#connecting = undefined
    })
    return this.#connecting
  }

  async #open(): Promise<Connection> {
    await this.#ending
    let opened: Connection | undefined
    let lost: string | undefined
    try {
      opened = await connect(
        this.spec,
        this.#parts,
        {
          closed: (why) => {
            lost = why
            if (opened !== undefined && this.#connection === opened) this.#lost(opened, why)
          },
          changed: (list) => this.#lookSoon(list),
        },
        this.#redact,
        this.#closing.signal,
      )
      await this.#read(opened)
      if (lost !== undefined) throw new McpError('mcp_unavailable', lost)
    } catch (error) {
      const known = error instanceof McpError ? error.failure : undefined
      const failure = known ?? failureOf(this.spec.reach, this.#redact, opened?.facts)
      await opened?.close()
      this.#failure = failure
      this.#error = describeFailure(this.#redact(messageOf(error)), failure)
      this.#backoff.failed()
      const code = error instanceof McpError ? error.code : 'mcp_unavailable'
      this.#needsSignIn = code === 'mcp_unauthorized'
      throw new McpError(code, `mcp server ${this.spec.name} is unavailable: ${this.#error}`, {
        cause: error,
        failure,
      })
    }
    this.#connection = opened
    this.#error = undefined
    this.#failure = undefined
    this.touch()
    this.#parts.changed()
    return opened
  }

  /** Reads what the server offers now. Tools that did not change stay the same objects. */
  async #read(connection: Connection): Promise<void> {
    const offer = connection.can.tools
      ? await listTools(this.spec, connection, this.#closing.signal)
      : { tools: [], problems: [] }
    const problems = [...offer.problems]
    const offered = offer.tools.filter(
      ({ label }) => this.#first.has(label) || this.#first.size < maxEverOffered,
    )
    if (offered.length < offer.tools.length)
      problems.push('it keeps offering new tools: the newest are left out')
    const prompts = connection.can.prompts ? await listPrompts(this.spec, connection, problems) : []
    this.#offer = { tools: offered, resources: connection.can.resources }
    const refused = this.#takeTools(this.#offer)
    this.#prompts = prompts
    this.#problems = [...problems, ...refused].slice(0, 50)
  }

  /** Creates the tools of an offer; returns the problems of those that could not be created. */
  #takeTools({ tools: offered, resources }: Extract<KnownOffer, { tools: unknown }>): readonly string[] {
    for (const { label, digest } of offered) if (!this.#first.has(label)) this.#first.set(label, digest)
    const made = this.#makeTools(offered)
    const names = new Set(made.tools.map(({ name }) => name))
    const own = resources ? resourceTools(this.spec, this) : []
    this.#tools = [
      ...made.tools,
      ...own.filter(({ name }) => !names.has(name)).map((tool) => this.#same(tool)),
    ]
    this.#made.clear()
    for (const tool of this.#tools) this.#made.set(keyOf(tool), tool)
    return made.problems
  }

  #makeTools(offered: readonly OfferedTool[]): ReturnType<typeof makeTools> {
    const { tools, problems } = makeTools(this.spec, offered, this.#first, this)
    return { tools: tools.map((tool) => this.#same(tool)), problems }
  }

  #same(tool: AnyGovernedTool): AnyGovernedTool {
    return this.#made.get(keyOf(tool)) ?? tool
  }

  /** Reads the list again, connecting first if needed. Returns the number of tools. */
  async refresh(): Promise<number> {
    const known = this.#connection
    const connection = await this.connect()
    // A new connection has already read the list.
    if (known === connection) await this.#read(connection)
    this.#parts.changed()
    return this.#tools.length
  }

  async call(tool: string, args: JsonObject, context: ToolCallContext): Promise<Envelope> {
    const result = await this.#request('tools/call', { name: tool, arguments: args }, context)
    return readCallResult(result, context.runtime)
  }

  /** Reads an announced change before the call, so that the call is judged by the tool's current definition. */
  currentTool(name: string): AnyGovernedTool | undefined | Promise<AnyGovernedTool | undefined> {
    const find = (): AnyGovernedTool | undefined => this.#tools.find((tool) => tool.name === name)
    if (this.#look === undefined && this.#looking === undefined) return find()
    return this.#lookAtOnce().then(find)
  }

  /**
   * Returns the tool of this name once the server has listed its tools. Rejects with the reason when the server is
   * unavailable.
   */
  async toolWhenReady(name: string): Promise<AnyGovernedTool | undefined> {
    await this.#use()
    return this.#tools.find((tool) => tool.name === name)
  }

  async readResource(uri: string, context: ToolCallContext): Promise<Envelope> {
    return readResourceResult(await this.#request('resources/read', { uri }, context), context.runtime)
  }

  async listResources(context: ToolCallContext): Promise<Envelope> {
    const connection = await this.#use()
    const problems: string[] = []
    const found = await listAll(
      connection,
      'resources/list',
      'resources',
      this.spec.timeoutMs,
      problems,
      context.signal,
    )
    const lines = found.flatMap((one) =>
      isRecord(one) && typeof one['uri'] === 'string'
        ? [{ uri: visibleLine(one['uri'], 1_000), name: visibleLine(String(one['name'] ?? ''), 200) }]
        : [],
    )
    return outputEnvelope([...lines, ...problems], { untrusted: true })
  }

  async prompt(prompt: OfferedPrompt, written: string, signal: AbortSignal): Promise<string> {
    const connection = await this.#use()
    const text = await promptText(connection, prompt, written, { timeoutMs: this.spec.timeoutMs, signal })
    this.touch()
    return text
  }

  async #request(
    method: string,
    params: Readonly<Record<string, unknown>>,
    { signal, progress, runtime }: ToolCallContext,
  ): Promise<unknown> {
    const { name, timeoutMs } = this.spec
    const traceparent = runtime?.session?.trace?.traceparent
    const sent = traceparent === undefined ? params : { ...params, _meta: { traceparent } }
    const ask = async (): Promise<unknown> => {
      // The caller can stop waiting; the connection is still opened for other callers.
      const connection = this.#connection ?? (await unlessAborted(this.#use(), signal))
      try {
        return await connection.request(method, sent, {
          timeoutMs,
          signal,
          onProgress: progress && ((one) => progress(progressText(one))),
        })
      } catch (error) {
        if (error instanceof McpError && this.#connection === connection) {
          if (error.code === 'mcp_unavailable') this.#lost(connection, error.message)
          if (error.code === 'mcp_expired') await this.#drop()
        }
        throw error
      }
    }
    const askTwice = async (): Promise<unknown> => {
      try {
        return await ask()
      } catch (error) {
        // The request was not executed, so it can be sent again, once, over a new connection.
        if (error instanceof McpError && error.code === 'mcp_expired') return ask()
        throw error
      }
    }
    this.#busy++
    try {
      const result = await askTwice()
      this.touch()
      this.#backoff.succeeded()
      return result
    } catch (error) {
      if (!(error instanceof McpError) || error.message.startsWith('mcp server')) throw error
      const { code, message } = error
      if (code === 'mcp_timeout')
        throw new McpError(
          code,
          `mcp server ${name} gave no answer within ${timeoutMs} ms; what it had already done may remain.`,
        )
      if (code === 'mcp_unavailable')
        throw new McpError(
          code,
          `mcp server ${name} is unavailable: ${message}; whether the call was carried out is not known.`,
        )
      throw new McpError(code, `mcp server ${name}: ${message}`)
    } finally {
      this.#busy--
    }
  }

  /**
   * Returns a connection for a call. A connection that was closed because it was idle is opened again; a lost one is
   * not waited for.
   */
  async #use(): Promise<Connection> {
    if (this.#connection !== undefined) return this.#connection
    if (this.#error === undefined) return this.connect()
    if (this.isDue) void this.restore()
    throw unavailable(this.spec.name, `${this.#error}. It is tried again before the next round.`)
  }

  /** Reconnects after a loss. Never rejects: the outcome is in the status. */
  async restore(): Promise<void> {
    try {
      await this.connect()
    } catch (error) {
      this.#error ??= messageOf(error)
    }
  }

  /** Marks the server as used, so that it does not count as idle. */
  touch(): void {
    this.#active = this.#parts.now()
  }

  /** Closes a connection that was not used for this long. A call in progress keeps it open. */
  async disconnectIdle(thresholdMs: number): Promise<boolean> {
    if (this.#connection === undefined || this.#busy > 0) return false
    if (this.#parts.now() - this.#active < thresholdMs) return false
    await this.#drop()
    return true
  }

  async close(): Promise<void> {
    this.#closing.abort()
    clearTimeout(this.#look)
    await this.#connecting?.catch(() => undefined)
    await this.#drop()
  }

  #drop(): Promise<void> {
    const connection = this.#connection
    this.#connection = undefined
    // The next caller waits until the last process has ended: the program may hold a lock or a port.
    if (connection !== undefined) this.#ending = this.#ending.then(() => connection.close())
    return this.#ending
  }

  #lost(connection: Connection, why: string): void {
    this.#connection = undefined
    this.#error = this.#redact(why)
    this.#failure = failureOf(this.spec.reach, this.#redact, connection.facts)
    this.#backoff.failed()
    this.#ending = this.#ending.then(() => connection.close())
    this.#ending.catch(() => undefined)
  }

  /** Reads a changed list at most once a second, however often the server announces a change. */
  #lookSoon(list: 'tools' | 'prompts' | 'resources'): void {
    if (list === 'resources' || this.#look !== undefined || this.#closing.signal.aborted) return
    const wait = Math.max(50, this.#lookedAt + lookAgainMs - performance.now())
    this.#look = setTimeout(() => {
      // The tools of the last read stay; the next call, change or refresh tries again.
      this.#lookAtOnce().catch((error: unknown) => {
        this.#problems = [this.#redact(messageOf(error))]
      })
    }, wait)
    this.#look.unref()
  }

  /**
   * Reads the list that was announced as changed. Concurrent callers wait for the same read, and for the next one if
   * another change was announced.
   */
  async #lookAtOnce(): Promise<void> {
    await this.#looking?.catch(() => undefined)
    if (this.#look === undefined) return this.#looking
    this.#looking ??= this.#lookNow().finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  async #lookNow(): Promise<void> {
    const look = this.#look
    clearTimeout(look)
    this.#look = undefined
    this.#lookedAt = performance.now()
    const connection = this.#connection
    if (connection === undefined) return
    try {
      await this.#read(connection)
      this.#parts.changed()
    } catch (error) {
      // The change is still unread: the next call must not use the old list as if it were the new one.
      if (this.#connection === connection) this.#look ??= look
      throw new McpError('mcp_unavailable', `the list could not be read again: ${messageOf(error)}`, {
        cause: error,
      })
    }
  }
}

function keyOf({ name, mcp }: AnyGovernedTool): string {
  return `${name} ${mcp?.digest ?? ''}`
}

function progressText({
  progress,
  total,
  message,
}: {
  progress: number
  total?: number | undefined
  message?: string | undefined
}): string {
  const share = total === undefined ? `${progress}` : `${progress}/${total}`
  return message === undefined ? `${share}\n` : `${share} ${visibleLine(message, 500)}\n`
}
