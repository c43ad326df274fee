import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import type { AgentEvent } from '../../src/loop/events.js'
import type { Model } from '../../src/model/model.js'
import { createModel, type ModelConfig } from '../../src/model/provider.js'
import type { AgentResult } from '../../src/session/agent-result.js'
import type { SessionOptions } from '../../src/session/options.js'
import type { Session } from '../../src/session/session.js'
import { CapstanError } from '../../src/tool/errors.js'
import { makeWorkspace, whenDone } from '../contract/open-session.js'

/** Never shown, and never sent to anyone but the server it is for. */
export const key = 'sk-fault-test-0123456789'

export type Handler = (response: ServerResponse, number: number, request: IncomingMessage) => unknown
export type RawServer = {
  readonly url: string
  readonly port: number
  /** How many requests came. */
  requests(): number
  /** Of each request. */
  readonly headers: readonly IncomingMessage['headers'][]
}

/** A server that does with each request what the test likes, down to its bytes. */
export async function rawServer(handler: Handler): Promise<RawServer> {
  const headers: IncomingMessage['headers'][] = []
  const server = createServer((request, response) => {
    const number = headers.push(request.headers)
    response.on('error', () => undefined)
    request.resume().on('end', () => void handler(response, number, request))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  whenDone(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, port, requests: () => headers.length, headers }
}

/** A model at this address whose waits between attempts are short. */
export function modelAt(baseUrl: string, config: Partial<ModelConfig> = {}): Model {
  const retry = { baseDelayMs: 10, maxDelayMs: 40, maxRetryAfterMs: 60, maxAttempts: 3 }
  return createModel({ provider: 'acme', id: 'm1', baseUrl, apiKey: key, retry, ...config })
}

/** A session with this model. */
export async function sessionWith(
  model: Model | undefined,
  options: SessionOptions & Readonly<Record<string, unknown>> = {},
  files: Readonly<Record<string, string>> = {},
): Promise<{ readonly session: Session; readonly agent: Agent; readonly root: string }> {
  const { root, userDir } = await makeWorkspace(files)
  const agent = await Agent.create({}, { userDir, env: {} })
  whenDone(() => agent.close())
  const session = agent.session(root, { sandbox: 'off', ...(model !== undefined && { model }), ...options })
  return { session, agent, root }
}

export type Outcome = {
  readonly result?: AgentResult
  readonly error?: CapstanError
  /** What `send` rejected with, whatever it is. */
  readonly thrown?: unknown
  readonly events: readonly AgentEvent[]
  readonly ms: number
}

/** Sends a prompt, and returns the result or the error, every event, and how long it took. */
export async function outcomeOf(session: Session, prompt = 'Go.'): Promise<Outcome> {
  const startedAt = performance.now()
  const settled = await session.send(prompt).then(
    (result) => ({ result }),
    (thrown: unknown) => ({
      thrown,
      ...(thrown instanceof CapstanError && { error: thrown }),
    }),
  )
  const ms = performance.now() - startedAt
  const last = (await session.runs()).at(-1)
  const events = last === undefined ? [] : (await session.runEvents(last.id)).map(({ event }) => event)
  return { ...settled, events, ms }
}

export function expectNoKey(...shown: readonly unknown[]): void {
  for (const one of shown) expect(`${JSON.stringify(one)} ${String(one)}`).not.toContain(key)
}

/** Every call has one result, right after it, and no result is without its call. */
export function expectWellFormed(session: Session): void {
  let open: string[] = []
  for (const { role, content } of session.history()) {
    const results = content.flatMap(({ type, toolUseId }) => (type === 'tool_result' ? [toolUseId] : []))
    if (role === 'tool') {
      expect(results).toEqual(open)
      open = []
    } else {
      expect(open, 'calls without results').toEqual([])
      expect(results).toEqual([])
    }
    if (role === 'assistant')
      open = content.flatMap(({ type, id }) => (type === 'tool_use' && id !== undefined ? [id] : []))
  }
  expect(open, 'calls without results').toEqual([])
}

export const sse = { 'content-type': 'text/event-stream' }
export const chunk = (delta: unknown, finish: string | null = null, more: object = {}): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }], ...more })}\n\n`
export const said = (content: string): string => chunk({ content })
export const stop = chunk({}, 'stop')
export const done = 'data: [DONE]\n\n'
export const whole = (text: string): string => `${said(text)}${stop}${done}`
export const callChunk = (name: unknown, args: unknown, more: object = { index: 0, id: 'c1' }): string =>
  chunk({ tool_calls: [{ ...more, type: 'function', function: { name, arguments: args } }] })

export function ok(response: ServerResponse, body: string | Uint8Array, headers: object = sse): void {
  response.writeHead(200, { ...headers }).end(body)
}

/** The value at this part of the sorted numbers. */
export function percentile(numbers: readonly number[], part: number): number {
  const sorted = [...numbers].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0
}
