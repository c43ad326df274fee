import { messageOf } from '../tool/errors.js'
import { isRecord } from '../tool/json.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { unlessAborted } from '../tool/unless-aborted.js'
import type { GuardedStream } from '../workspace/net/guarded-stream.js'
import type { ServerProgram } from '../workspace/server-program.js'
import type { PipedProcess } from '../workspace/shell/index.js'
import { withTimeout } from '../workspace/shell/with-timeout.js'
import type { Channel } from './channel/channel.js'
import { fetchFor, type HttpReach } from './channel/http-fetch.js'
import { StdioChannel } from './channel/stdio-channel.js'
import { failureOf, type ProcessFacts } from './describe-failure.js'
import { McpError } from './errors.js'
import type { McpSignIn } from './host-types.js'
import { type SignInAttempt, signInFor } from './oauth.js'
import type { Redact } from './secrets.js'
import { shownLine } from './secrets.js'
import type { McpServerSpec } from './server-options.js'
import { answerRequests, type ServerRequestHandlers } from './server-requests.js'

/** What a connection needs from the machine and the host. */
export type ConnectionOptions = ServerRequestHandlers & {
  startServer(program: ServerProgram): Promise<PipedProcess>
  /** The `PATH` in which programs are looked up. */
  readonly path?: string | undefined
  readonly signIn?: McpSignIn | undefined
  /** The version that is sent to servers. */
  readonly version?: string
}

export type ConnectionEvents = {
  /** Called once, when the connection is lost or closed for any reason. */
  closed(why: string): void
  /** Called when the server announces that a list has changed. */
  changed(list: 'tools' | 'prompts' | 'resources'): void
}

export type RequestLimits = {
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((progress: Progress) => void) | undefined
}
export type Progress = {
  readonly progress: number
  readonly total?: number | undefined
  readonly message?: string | undefined
}

/**
 * One live connection to one server. It has its own library object and channel, so that no answer can reach another
 * connection (SEC-184).
 */
export interface Connection {
  /** The capabilities that the server declares. */
  readonly can: { readonly tools: boolean; readonly resources: boolean; readonly prompts: boolean }
  /** The name of the sandbox that confines the program; absent for remote servers. */
  readonly sandbox: string | undefined
  /** How the program exited, if it has, and what it wrote to standard error; absent for remote servers. */
  readonly facts: ProcessFacts | undefined
  request(method: string, params: Readonly<Record<string, unknown>>, limits: RequestLimits): Promise<unknown>
  close(): Promise<void>
}

/**
 * Starts or connects to a server and performs the handshake within `startTimeoutMs`. The time that a user needs to
 * sign in does not count.
 */
export async function connect(
  spec: McpServerSpec,
  surroundings: ConnectionOptions,
  events: ConnectionEvents,
  redact: Redact,
  signal?: AbortSignal,
): Promise<Connection> {
  const library = await import('@modelcontextprotocol/client')
  let stop = limit()
  const { reach } = spec
  if (reach.by === 'stdio') {
    const channel = new StdioChannel({
      redact,
      startProcess: () => surroundings.startServer(programOf(spec, surroundings)),
    })
    return shake(
      channel,
      () => channel.why,
      () => channel.close(),
    ).catch((error: unknown) => {
      throw withFacts(explain(error), channel)
    })
  }
  return overHttp(reach)

  /**
   * Adds what the program wrote to standard error, even if it has not exited: it may have printed what it waits for.
   */
  function withFacts({ code, message }: McpError, channel: StdioChannel): McpError {
    const { facts, why } = channel
    const failure = failureOf(reach, redact, facts)
    if (why !== undefined) return new McpError('mcp_unavailable', why, { failure })
    const said = facts.stderr === undefined ? '' : `; it said: ${facts.stderr.join(' | ')}`
    return new McpError(code, `${message}${said}`, { failure })
  }

  function limit(): AbortSignal {
    return either(signal, AbortSignal.timeout(spec.startTimeoutMs))
  }

  async function overHttp(http: HttpReach): Promise<Connection> {
    const net = await fetchFor(http)
    const signIn = await signInFor(spec, http, surroundings.signIn)
    const options = {
      fetch: traced(net.fetch),
      requestInit: { headers: { ...http.headers } },
      ...omitUndefined({ authProvider: signIn?.provider }),
    }
    const streamable = (): Channel =>
      new library.StreamableHTTPClientTransport(http.url, {
        ...options,
        reconnectionOptions: {
          initialReconnectionDelay: 500,
          maxReconnectionDelay: 10_000,
          reconnectionDelayGrowFactor: 2,
          maxRetries: 5,
        },
      }) as Channel
    const sse = (): Channel => new library.SSEClientTransport(http.url, options) as Channel
    const attempt = (make: () => Channel): Promise<Connection> => throughHttp(make, net, signIn)
    try {
      if (http.sse === 'only') return await attempt(sse)
      return await attempt(streamable).catch(async (error: unknown) => {
        if (isUnauthorized(error) && signIn !== undefined) {
          await unlessAborted(signIn.complete(), signal)
          stop = limit()
          return attempt(streamable)
        }
        // An older server supports only event streams and answers with one of these statuses.
        if (statusOf(error) !== undefined && [400, 404, 405, 406, 415].includes(statusOf(error) ?? 0))
          return attempt(sse).catch(() => {
            throw error
          })
        throw error
      })
    } catch (error) {
      net.close()
      throw explain(error)
    }
  }

  function throughHttp(
    make: () => Channel,
    net: GuardedStream,
    signIn: SignInAttempt | undefined,
  ): Promise<Connection> {
    const channel = make()
    let ended: string | undefined
    return shake(
      channel,
      () => ended,
      async () => {
        ended ??= 'it was disconnected'
        // A server may hold state for this client until the client disconnects: send the disconnect, and wait for it
        // briefly.
        const leaving =
          'terminateSession' in channel ? (channel as { terminateSession(): Promise<void> }) : undefined
        if (leaving !== undefined) await withTimeout(leaving.terminateSession(), 1_000).catch(() => undefined)
        await channel.close()
        net.close()
      },
      (error) => error,
      signIn,
    )
  }

  async function shake(
    channel: Channel,
    why: () => string | undefined,
    end: () => Promise<void>,
    toError: (error: unknown) => unknown = explain,
    signIn?: SignInAttempt,
  ): Promise<Connection> {
    const client = new library.Client(
      { name: 'capstan', version: surroundings.version ?? '0' },
      {
        capabilities: answerable(surroundings),
        listMaxPages: 1,
        // Structured output goes to the model unchecked: checking it would run a server's patterns on this thread.
        jsonSchemaValidator: {
          getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
        },
      },
    )
    let open = false
    let lost: string | undefined
    answerRequests(client as never, surroundings)
    for (const list of ['tools', 'prompts', 'resources'] as const)
      client.setNotificationHandler(`notifications/${list}/list_changed`, () => events.changed(list))
    client.onerror = () => undefined
    client.onclose = () => {
      lost ??= why() ?? 'the connection was closed'
      if (open) events.closed(lost)
    }
    try {
      await unlessAborted(
        client.connect(channel as never, { timeout: spec.startTimeoutMs, signal: stop }),
        stop,
      )
    } catch (error) {
      // The reason why the channel ended is more useful than the fact that it ended.
      const ended = why()
      await end().catch(() => undefined)
      throw toError(
        stop.aborted ? stop.reason : ended === undefined ? error : new McpError('mcp_unavailable', ended),
      )
    }
    open = true
    if (lost !== undefined) throw new McpError('mcp_unavailable', lost)
    const capabilities = client.getServerCapabilities() ?? {}
    return {
      can: {
        tools: capabilities.tools !== undefined,
        resources: capabilities.resources !== undefined,
        prompts: capabilities.prompts !== undefined,
      },
      get sandbox() {
        return channel instanceof StdioChannel ? channel.sandbox : undefined
      },
      get facts() {
        return channel instanceof StdioChannel ? channel.facts : undefined
      },
      async request(method, params, { timeoutMs, signal: abort, onProgress }) {
        const ask = (): Promise<unknown> =>
          client.request({ method, params: { ...params } }, anyResult, {
            timeout: timeoutMs,
            maxTotalTimeout: timeoutMs,
            ...omitUndefined({ signal: abort, onprogress: onProgress }),
          })
        const askSignedIn = async (provider: SignInAttempt): Promise<unknown> => {
          try {
            return await ask()
          } catch (error) {
            // The server refused the request, so nothing was done. After the user has approved more access, it can be
            // sent again.
            if (!isUnauthorized(error)) throw error
            await unlessAborted(provider.complete(), abort === undefined ? signal : either(signal, abort))
            return ask()
          }
        }
        try {
          return await (signIn === undefined ? ask() : askSignedIn(signIn))
        } catch (error) {
          if (abort?.aborted) throw new McpError('mcp_aborted', 'the call was cancelled')
          if (lost !== undefined) throw new McpError('mcp_unavailable', why() ?? lost)
          if (statusOf(error) === 404) throw new McpError('mcp_expired', 'it has forgotten the connection')
          throw explain(error, timeoutMs)
        }
      },
      async close() {
        open = false
        // Close the channel first: the library then fails the pending calls.
        await end()
        await client.close().catch(() => undefined)
      },
    }
  }

  /** Converts what the library, the channel or the server threw to an `McpError` without secrets. */
  function explain(error: unknown, timeoutMs = spec.startTimeoutMs): McpError {
    if (signal?.aborted) return new McpError('mcp_aborted', 'the connection was cancelled')
    if (error instanceof McpError) return new McpError(error.code, redact(error.message))
    if (isTimeout(error)) return new McpError('mcp_timeout', `no answer within ${timeoutMs} ms`)
    if (isUnauthorized(error)) return new McpError('mcp_unauthorized', 'authentication failed')
    const status = statusOf(error)
    if (status !== undefined)
      return new McpError('mcp_unavailable', `it answered with the HTTP status ${status}`)
    const text = shownLine(messageOf(error), redact)
    const refused = typeof (error as { code?: unknown } | null)?.code === 'number'
    return new McpError(refused ? 'mcp_refused' : 'mcp_unavailable', text)
  }
}

/** Copies the trace of a message to the headers, for proxies in front of the server. */
function traced(fetch: GuardedStream['fetch']): GuardedStream['fetch'] {
  return (url, init) => {
    const traceparent = typeof init?.body === 'string' ? traceparentIn(init.body) : undefined
    if (traceparent === undefined) return fetch(url, init)
    const headers = new Headers(init?.headers)
    headers.set('traceparent', traceparent)
    return fetch(url, { ...init, headers })
  }
}

function traceparentIn(body: string): string | undefined {
  if (!body.includes('"traceparent"')) return undefined
  const message: unknown = JSON.parse(body)
  const params = isRecord(message) ? message['params'] : undefined
  const meta = isRecord(params) ? params['_meta'] : undefined
  const given = isRecord(meta) ? meta['traceparent'] : undefined
  return typeof given === 'string' ? given : undefined
}

function either(one: AbortSignal | undefined, other: AbortSignal): AbortSignal {
  return one === undefined ? other : AbortSignal.any([one, other])
}

/** Accepts every result; the caller parses it. */
const anyResult = {
  '~standard': { version: 1, vendor: 'capstan', validate: (value: unknown) => ({ value }) },
} as const

function programOf({ reach }: McpServerSpec, { path }: ConnectionOptions): ServerProgram {
  if (reach.by !== 'stdio') throw new TypeError('a server that is reached over HTTP has no program')
  const { by: _, ...program } = reach
  return { ...program, ...omitUndefined({ path }) }
}

/** Offers only the capabilities that this client has a handler for. */
function answerable({ question, sampling }: ServerRequestHandlers): Record<string, object> {
  return {
    roots: { listChanged: false },
    ...(question !== undefined && { elicitation: { form: {} } }),
    ...(sampling !== undefined && { sampling: {} }),
  }
}

function isTimeout(error: unknown): boolean {
  const { name, code } = (error ?? {}) as { name?: unknown; code?: unknown }
  return name === 'TimeoutError' || code === 'REQUEST_TIMEOUT'
}

function isUnauthorized(error: unknown): boolean {
  return (error as { name?: unknown } | null)?.name === 'UnauthorizedError' || statusOf(error) === 401
}

function statusOf(error: unknown): number | undefined {
  const { status, code, data } = (error ?? {}) as {
    status?: unknown
    code?: unknown
    data?: { status?: unknown }
  }
  const found =
    status ?? data?.status ?? (typeof code === 'number' && code >= 100 && code < 600 ? code : undefined)
  return typeof found === 'number' ? found : undefined
}
