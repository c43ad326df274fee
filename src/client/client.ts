import type { AgentEvent } from '../loop/events.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { type Operations, operations } from './operations.js'
import { readEventStream } from './read-event-stream.js'

/** The options of {@link createClient}. */
export type ClientOptions = {
  /** The address of the server, such as `http://127.0.0.1:4747`. Default: that of the page. */
  readonly url?: string
  readonly token?: string
  /** Headers of every request, for hosts with their own authentication. */
  readonly headers?: Readonly<Record<string, string>>
  readonly fetch?: typeof fetch
  /** The delay in milliseconds before the first attempt to reconnect; it doubles up to 30 s. */
  readonly reconnectMs?: number
}

/** An event with its sequence number. */
export type PlacedEvent = { readonly sequence: number; readonly event: AgentEvent }

/** The options of a run, besides its prompt. */
export type RunOptions = {
  readonly attachments?: readonly {
    readonly data: string
    readonly mediaType: string
    readonly name?: string
  }[]
  readonly metadata?: Readonly<Record<string, unknown>>
  /** The idempotency key: requests with the same key start one run. */
  readonly idempotencyKey?: string
}

/** Thrown when the server refused a request. `code` is stable. */
export class ProblemError extends Error {
  readonly status: number
  readonly code: string
  readonly problem: Readonly<Record<string, unknown>>

  constructor(status: number, problem: Readonly<Record<string, unknown>>) {
    super(String(problem['detail'] ?? problem['title'] ?? `The server answered ${status}.`))
    this.name = 'ProblemError'
    this.status = status
    this.code = String(problem['code'] ?? 'unknown')
    this.problem = problem
  }
}

/**
 * Creates a client of the Capstan server, for browsers and every other JavaScript runtime with `fetch`.
 *
 * @example
 * const client = createClient({ url: 'http://127.0.0.1:4747', token })
 * const session = await client.createSession()
 * for await (const event of await session.run('What is this project?'))
 *   if (event.type === 'text_delta') show(event.text)
 */
export function createClient(options: ClientOptions = {}): CapstanClient {
  return new CapstanClient(options)
}

/** A client of one server. Create it with {@link createClient}. */
export class CapstanClient {
  readonly #options: ClientOptions

  constructor(options: ClientOptions) {
    this.#options = options
  }

  /** Calls an operation of the server by its name in the OpenAPI document. */
  async call<Name extends keyof Operations>(
    name: Name,
    given: Operations[Name]['input'],
    signal?: AbortSignal,
  ): Promise<Operations[Name]['output']> {
    const response = await this.send(name, given as Input, signal)
    if (response.status === 204) return undefined as Operations[Name]['output']
    const isJson = response.headers.get('content-type')?.includes('json') === true
    return (isJson ? await response.json() : await response.text()) as Operations[Name]['output']
  }

  async createSession(body: Operations['createSession']['input']['body'] = {}): Promise<RemoteSession> {
    const { sessionId } = await this.call('createSession', { body })
    return this.session(sessionId)
  }

  /** Returns the session with this id, without a request to the server. */
  session(sessionId: string): RemoteSession {
    return new RemoteSession(this, sessionId)
  }

  async sessions(
    query: Operations['listSessions']['input']['query'] = {},
  ): Promise<Operations['listSessions']['output']> {
    return this.call('listSessions', { query })
  }

  /** Sends a request and returns its response. Rejects with {@link ProblemError} unless it is a success. */
  async send(
    name: keyof Operations,
    { params = {}, query = {}, body, headers = {} }: Input,
    signal?: AbortSignal,
  ): Promise<Response> {
    const { url = '', token, headers: own = {}, fetch: send = fetch } = this.#options
    const [method = 'GET', path = ''] = operations[name].split(' ')
    const filled = path.replace(/\{(\w+)\}/g, (_, key: string) =>
      encodeURIComponent(String(params[key] ?? '')),
    )
    const search = new URLSearchParams(
      Object.entries(query).flatMap(([key, value]) => (value === undefined ? [] : [[key, String(value)]])),
    ).toString()
    const response = await send(`${url.replace(/\/$/, '')}${filled}${search === '' ? '' : `?${search}`}`, {
      method,
      headers: {
        ...own,
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...omitUndefined({ signal }),
    })
    if (response.ok) return response
    throw new ProblemError(response.status, await problemIn(response))
  }

  get reconnectMs(): number {
    return this.#options.reconnectMs ?? 500
  }
}

type Input = {
  readonly params?: Readonly<Record<string, unknown>> | undefined
  readonly query?: Readonly<Record<string, unknown>> | undefined
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>> | undefined
}

async function problemIn(response: Response): Promise<Readonly<Record<string, unknown>>> {
  try {
    return (await response.json()) as Readonly<Record<string, unknown>>
  } catch {
    return {}
  }
}

/** A session on the server. */
export class RemoteSession {
  readonly sessionId: string
  readonly client: CapstanClient

  constructor(client: CapstanClient, sessionId: string) {
    this.client = client
    this.sessionId = sessionId
  }

  /** Starts a run. It continues when no reader watches it. */
  async run(prompt: string, { attachments, metadata, idempotencyKey }: RunOptions = {}): Promise<RemoteRun> {
    const { runId } = await this.client.call('startRun', {
      params: { sessionId: this.sessionId },
      body: {
        prompt,
        ...(attachments && { attachments: [...attachments] }),
        ...(metadata && { metadata: { ...metadata } }),
      },
      ...(idempotencyKey !== undefined && { headers: { 'idempotency-key': idempotencyKey } }),
    })
    return new RemoteRun(this, runId)
  }

  /** Returns the run with this id, to watch or cancel it. */
  runOf(runId: string): RemoteRun {
    return new RemoteRun(this, runId)
  }

  async approvals(): Promise<Operations['listApprovals']['output']['approvals']> {
    return (await this.client.call('listApprovals', { params: { sessionId: this.sessionId } })).approvals
  }

  async answerApproval(callId: string, body: Operations['answerApproval']['input']['body']): Promise<void> {
    await this.client.call('answerApproval', { params: { sessionId: this.sessionId, callId }, body })
  }

  async questions(): Promise<Operations['listQuestions']['output']['questions']> {
    return (await this.client.call('listQuestions', { params: { sessionId: this.sessionId } })).questions
  }

  async answerQuestion(questionId: string, answers: string[][]): Promise<void> {
    await this.client.call('answerQuestion', {
      params: { sessionId: this.sessionId, questionId },
      body: { answers },
    })
  }
}

/** A run on the server. Iterating over it returns its events, to its end. */
export class RemoteRun implements AsyncIterable<AgentEvent> {
  readonly session: RemoteSession
  readonly runId: string

  constructor(session: RemoteSession, runId: string) {
    this.session = session
    this.runId = runId
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<AgentEvent, void, undefined> {
    for await (const { event } of this.events()) yield event
  }

  /**
   * Returns the events of the run from a sequence number to its end. A broken connection is opened again at the last
   * number, so every event arrives once; a text that was cut arrives again in full, with `whole: true`. Leaving the
   * loop does not affect the run.
   */
  async *events(
    options: { readonly from?: number; readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<PlacedEvent, void, undefined> {
    const { client } = this.session
    let last = options.from ?? 0
    let pause = client.reconnectMs
    const leaving = new AbortController()
    const stop = (): void => leaving.abort()
    options.signal?.addEventListener('abort', stop)
    try {
      while (options.signal?.aborted !== true) {
        try {
          const given = { params: this.#params, query: { from: last } }
          const response = await client.send('watchRun', given, leaving.signal)
          if (response.status === 204 || response.body === null) return
          for await (const { id, data } of readEventStream(response.body)) {
            const event = JSON.parse(data) as AgentEvent
            pause = client.reconnectMs
            // The server's log contains the missed events, and the next connection returns them.
            if (event.type === 'events_missed') break
            if (id !== undefined) last = Number(id)
            yield { sequence: last, event }
            if (['agent_end', 'error', 'agent_cancelled'].includes(event.type)) return
          }
        } catch (error) {
          if (leaving.signal.aborted) return
          if (error instanceof ProblemError && error.status < 500 && error.status !== 429) throw error
        }
        await new Promise((resolve) => setTimeout(resolve, pause))
        pause = Math.min(pause * 2, 30_000)
      }
    } finally {
      options.signal?.removeEventListener('abort', stop)
      leaving.abort()
    }
  }

  async get(): Promise<Operations['getRun']['output']> {
    return this.session.client.call('getRun', { params: this.#params })
  }

  async cancel(): Promise<void> {
    await this.session.client.call('cancelRun', { params: this.#params })
  }

  async steer(text: string): Promise<void> {
    await this.session.client.call('steerRun', { params: this.#params, body: { text } })
  }

  /** Resumes a run whose process ended; returns the run that continues it. */
  async resume(): Promise<RemoteRun> {
    const { runId } = await this.session.client.call('resumeRun', { params: this.#params })
    return this.session.runOf(runId)
  }

  get #params(): { readonly sessionId: string; readonly runId: string } {
    return { sessionId: this.session.sessionId, runId: this.runId }
  }
}
