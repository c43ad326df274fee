import type { Server } from 'node:http'
import { onTestFinished } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import { readEventStream } from '../../src/client/read-event-stream.js'
import type { AgentEvent } from '../../src/loop/events.js'
import { type CapstanServer, createServer, listen, type ServerOptions } from '../../src/server/index.js'
import { temporaryDirectory } from '../support/temporary-directory.js'

export { temporaryDirectory as directory } from '../support/temporary-directory.js'

export const token = 'token-of-the-tests-0001'
export const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }

export type Started = {
  readonly url: string
  readonly agent: Agent
  readonly server: CapstanServer
  readonly workspace: string
  /** The HTTP server of Node, for its time limits. */
  readonly http: Server
  /** Sends a request with the token, and reads a JSON answer. */
  call(method: string, path: string, body?: unknown, more?: Record<string, string>): Promise<Answer>
  stop(): Promise<void>
}

// The tests look into answers of every shape.
// biome-ignore lint/suspicious/noExplicitAny: a JSON answer
export type Answer = { readonly status: number; readonly body: any; readonly headers: Headers }

/** A server on a free port of loopback, in this process. */
export async function startServer(options: Partial<ServerOptions> = {}): Promise<Started> {
  const workspace = options.workspaces?.[0] ?? temporaryDirectory()
  const agent = await Agent.create()
  const server = createServer(agent, { token, workspaces: [workspace], ...options })
  const { url, close, server: http } = await listen(server, { port: 0 })
  let stopping: Promise<void> | undefined
  const stop = (): Promise<void> => {
    stopping ??= (async () => {
      await server.close()
      await close()
      await agent.close()
    })()
    return stopping
  }
  onTestFinished(stop)
  const call: Started['call'] = async (method, path, body, more = {}) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { ...headers, ...more },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const isJson =
      response.headers.get('content-type')?.includes('json') === true &&
      !response.headers.get('content-type')?.includes('ndjson')
    return { status: response.status, body: isJson ? JSON.parse(text) : text, headers: response.headers }
  }
  return { url, agent, server, workspace, http, call, stop }
}

export type Placed = { readonly sequence: number | undefined; readonly event: AgentEvent }

/** The events of one connection, until it ends, or the given number or type has come. */
export async function readEvents(
  url: string,
  path: string,
  options: { readonly from?: number; readonly count?: number; readonly until?: AgentEvent['type'] } = {},
): Promise<Placed[]> {
  const leaving = new AbortController()
  const response = await fetch(`${url}${path}`, {
    headers: { ...headers, ...(options.from !== undefined && { 'last-event-id': String(options.from) }) },
    signal: leaving.signal,
  })
  if (response.status === 204 || response.body === null) return []
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)
  const events: Placed[] = []
  for await (const { id, data } of readEventStream(response.body)) {
    events.push({ sequence: id === undefined ? undefined : Number(id), event: JSON.parse(data) })
    if (events.length === options.count || events.at(-1)?.event.type === options.until) break
  }
  leaving.abort()
  return events
}

/** An event of the stream of all sessions, with the id that resumes the stream after it. */
export type AllEvent = { readonly id: string | undefined; readonly data: string }

/** The events of all sessions, until the given ones are enough. */
export async function readAllEvents(
  url: string,
  lastEventId: string | undefined,
  isEnough: (events: readonly AllEvent[]) => boolean,
): Promise<AllEvent[]> {
  const leaving = new AbortController()
  const response = await fetch(`${url}/v1/events`, {
    headers: { ...headers, ...(lastEventId !== undefined && { 'last-event-id': lastEventId }) },
    signal: leaving.signal,
  })
  if (!response.ok || response.body === null) throw new Error(`${response.status}: ${await response.text()}`)
  const events: AllEvent[] = []
  for await (const { id, data } of readEventStream(response.body)) {
    events.push({ id, data })
    if (isEnough(events)) break
  }
  leaving.abort()
  return events
}
