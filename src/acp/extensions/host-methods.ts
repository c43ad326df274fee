import { Agent } from '../../agent/agent.js'
import type { SessionOptions } from '../../session/options.js'
import type { Session } from '../../session/session.js'
import type { MemorySessionStore } from '../../store/memory-store.js'
import type { WorkerAgentSpec } from '../../subagents/files/worker-spec.js'
import { CapstanError } from '../../tool/errors.js'
import type { JsonObject } from '../../tool/json.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import type { Params } from '../method.js'
import { textsIn } from '../params.js'
import { invalidParams, RpcError, rpcCodes } from '../rpc-error.js'
import { type CallClient, ClientCallbacks } from './client-callbacks.js'
import { numberIn, optionalNumberIn, optionalStringIn, recordIn, stringIn } from './params.js'
import { RunStreams } from './run-streams.js'
import { sendRequest, sessionMethods } from './session-methods.js'
import { sessionOptions } from './session-options.js'

export type HostMethodsOptions = {
  readonly callClient: CallClient
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
}

/**
 * The methods `_capstan/…`: the SDK for a client in another language. A client that can call them has the permissions
 * of a host: it chooses the rules of its sessions, and its direct calls are privileged. Each connection has one
 * agent.
 */
export class HostMethods {
  readonly #options: HostMethodsOptions
  readonly #sessions = new Map<number, Opened>()
  readonly #streams = new RunStreams()
  readonly #memoryStores = new Map<string, MemorySessionStore>()
  #agent: Agent | undefined

  constructor(options: HostMethodsOptions) {
    this.#options = options
  }

  /**
   * Answers one of {@link hostMethodNames}. The value is wrapped in an object, because it can be null and a result of
   * the protocol cannot.
   */
  async handle(method: string, params: Params, signal: AbortSignal): Promise<{ readonly value: unknown }> {
    try {
      return { value: (await this.#answer(method.slice(prefix.length), params, signal)) ?? null }
    } catch (error) {
      throw toHostError(error)
    }
  }

  async #answer(name: string, params: Params, signal: AbortSignal): Promise<unknown> {
    const own = Object.hasOwn(HostMethods.methods, name) ? HostMethods.methods[name] : undefined
    if (own !== undefined) return own(this, params)
    const { session, callbacks } = this.#opened(params)
    return sessionMethods[name.slice('session/'.length)]?.({ session, params, callbacks, signal })
  }

  /** Closes the agent and its sessions after the client has disconnected. */
  async close(): Promise<void> {
    await this.#agent?.close()
  }

  /** The methods other than those of {@link sessionMethods}. */
  static readonly methods: Readonly<Record<string, (host: HostMethods, params: Params) => unknown>> = {
    'agent/create': (host, params) => host.#create(params),
    'agent/describe': (host) => host.#open.describe(),
    'agent/listSessions': (host) => host.#open.listSessions(),
    'agent/closeSession': (host, params) => host.#open.closeSession(stringIn(params, 'sessionId')),
    'agent/refreshMcpTools': (host) => host.#open.refreshMcpTools(),
    'agent/disconnectIdleMcp': (host, params) =>
      host.#open.disconnectIdleMcp(numberIn(params, 'thresholdMs')),
    'agent/close': (host) => host.close(),
    'session/open': (host, params) => host.#openSession(params),
    'session/close': (host, params) => host.#closeSession(params),
    'session/stream': async (host, params) => {
      const { session } = host.#opened(params)
      return host.#streams.add(await session.stream(sendRequest(params)))
    },
    'session/watch': (host, params) => {
      const { session } = host.#opened(params)
      const from = optionalNumberIn(params, 'from')
      return host.#streams.add(session.watch(stringIn(params, 'runId'), from === undefined ? {} : { from }))
    },
    'stream/next': (host, params) => host.#streams.next(numberIn(params, 'stream')),
    'stream/close': (host, params) => host.#streams.close(numberIn(params, 'stream')),
    'tool/progress': (host, params) => {
      host.#opened(params).callbacks.progress(stringIn(params, 'callId'), params['partial'])
    },
  }

  async #create(params: Params): Promise<unknown> {
    if (this.#agent !== undefined)
      throw new CapstanError('agent_exists', 'This connection has an agent already. Start another process.')
    const source = typeof params['source'] === 'string' ? params['source'] : recordIn(params, 'source')
    const { env, cwd } = this.#options
    const userDir = optionalStringIn(params, 'userDir')
    const agent = await Agent.create(source, {
      env,
      cwd: optionalStringIn(params, 'cwd') ?? cwd,
      ...omitUndefined({ userDir }),
    })
    this.#agent = agent
    return { warnings: agent.warnings }
  }

  get #open(): Agent {
    if (this.#agent === undefined)
      throw new CapstanError('agent_missing', 'There is no agent: call _capstan/agent/create first.')
    return this.#agent
  }

  /** `session` is a number that the client chooses, because its callbacks can be called before it has the answer. */
  async #openSession(params: Params): Promise<unknown> {
    const handle = numberIn(params, 'session')
    if (this.#sessions.has(handle)) throw invalidParams('session must be a number that is not in use.')
    const callbacks = new ClientCallbacks(this.#options.callClient, handle)
    const options = await sessionOptions(recordIn(params, 'options'), callbacks, this.#memoryStores)
    const session = await this.#sessionFor(params, options)
    this.#sessions.set(handle, { session, callbacks })
    return described(session)
  }

  async #sessionFor(params: Params, options: SessionOptions): Promise<Session> {
    const agent = this.#open
    const workspace = optionalStringIn(params, 'workspace')
    const place = workspace === undefined ? {} : { workspace }
    switch (params['kind']) {
      case 'resume':
        return agent.openSession(stringIn(params, 'sessionId'), { ...options, ...place })
      case 'fork': {
        const [fromMessageId, beforeMessageId] = ['fromMessageId', 'beforeMessageId'].map((field) =>
          optionalStringIn(params, field),
        )
        return agent.forkSession(stringIn(params, 'sessionId'), {
          ...options,
          ...place,
          ...omitUndefined({ fromMessageId, beforeMessageId }),
        })
      }
      case 'agent':
        return agent.sessionForAgent(
          stringIn(params, 'workspace'),
          stringIn(params, 'name'),
          textsIn(params, 'agentDirs'),
          options,
        )
      case 'worker':
        return agent.sessionForWorker(
          stringIn(params, 'workspace'),
          recordIn(params, 'spec') as WorkerAgentSpec,
          options,
        )
      default:
        return agent.session(stringIn(params, 'workspace'), options)
    }
  }

  async #closeSession(params: Params): Promise<void> {
    const { session } = this.#opened(params)
    await session.close()
    this.#sessions.delete(numberIn(params, 'session'))
  }

  #opened(params: Params): Opened {
    const opened = this.#sessions.get(numberIn(params, 'session'))
    if (opened === undefined) throw new CapstanError('session_closed', 'Session closed: it is not open here.')
    return opened
  }
}

const prefix = '_capstan/'

/** The names of all host methods. */
export const hostMethodNames: readonly string[] = [
  ...Object.keys(HostMethods.methods),
  ...Object.keys(sessionMethods).map((name) => `session/${name}`),
].map((name) => `${prefix}${name}`)

type Opened = { readonly session: Session; readonly callbacks: ClientCallbacks }

/**
 * Creates the error response: `data` has the stable code, and the fields from which a client creates its own error.
 */
function toHostError(error: unknown): unknown {
  const isRefused = error instanceof RpcError && error.code === rpcCodes.invalidParams
  if (isRefused || error instanceof TypeError)
    return new RpcError(rpcCodes.invalidParams, error.message, { code: 'invalid_argument' })
  if (!(error instanceof CapstanError)) return error
  const data: JsonObject = { code: error.code }
  for (const field of ['resource', 'reason', 'option'] as const) {
    const value = field in error ? error[field as keyof typeof error] : undefined
    if (typeof value === 'string') data[field] = value
  }
  return new RpcError(rpcCodes.internalError, error.message, data)
}

function described(session: Session): object {
  const { sessionId, workspace, title, initWarning, hasMemory } = session
  const { tenantId, principal, agentTemplateId, correlationId } = session
  const labels = { tenantId, principal, agentTemplateId, correlationId }
  return { sessionId, workspace, title, initWarning, hasMemory, ...labels }
}
