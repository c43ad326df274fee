/// <reference lib="esnext.disposable" preserve="true" />
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { messageOf, tryOr } from '../../tool/errors.js'
import type { JsonValue } from '../../tool/json.js'
import { type ModelScript, speak, stepOf } from '../model-step.js'
import { chatCompletions } from './chat-completions.js'
import { generateContent } from './generate-content.js'
import { messages } from './messages.js'
import { responses } from './responses.js'
import { sendEvents, sendPieces, type Wire } from './send.js'
import type { Dialect, ServedRequest, ServedStep, WireAnswer } from './served-step.js'

/** A running model server. */
export type ModelServer = {
  /** `http://127.0.0.1:<port>`; the protocols are below `/v1` (and `/v1beta`). */
  readonly url: string
  /** The requests so far, in order. */
  readonly requests: readonly ServedRequest[]
  /** Resolves with request number `n` (from 0), when it has arrived. */
  request(n: number): Promise<ServedRequest>
  /** Closes every connection. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** The settings of {@link startModelServer}. */
export type ModelServerOptions = {
  /** 0: the system chooses a port. */
  readonly port?: number
}

/**
 * Starts a model server on loopback that answers from a script, in the protocol of the request: chat completions,
 * messages, responses or generate-content. Each request gets the next step. It can also simulate the faults of real
 * servers.
 *
 * @example
 * ```ts
 * const server = await startModelServer([
 *   { status: 429, headers: { 'retry-after': '1' } },
 *   { text: 'Looking.', toolCalls: [{ name: 'read', args: { path: 'a.txt' } }] },
 *   'Done.',
 * ])
 * // base URL of a provider: `${server.url}/v1`
 * await server.close()
 * ```
 */
export async function startModelServer(
  script: ModelScript<ServedRequest, ServedStep>,
  options: ModelServerOptions = {},
): Promise<ModelServer> {
  const requests: ServedRequest[] = []
  const waiting: ((request: ServedRequest, n: number) => void)[] = []
  const closing = new AbortController()
  const server = createServer((incoming, response) => {
    // Every error in a script reaches the test as the message of an error response.
    serve(incoming, response).catch((error: unknown) => refuse(response, messageOf(error)))
  })

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const left = new AbortController()
    response.once('close', () => left.abort(new Error('the client has gone')))
    const wire: Wire = { response, gone: AbortSignal.any([left.signal, closing.signal]), written: 0 }
    let settle: (how: 'answered' | 'dropped' | 'left') => void = () => undefined
    const ended = new Promise<'answered' | 'dropped' | 'left'>((resolve) => {
      settle = resolve
    })
    const request: ServedRequest = {
      method: incoming.method ?? '',
      path: incoming.url ?? '',
      headers: incoming.headers,
      body: await readBody(incoming),
      ended,
    }
    const n = requests.push(request) - 1
    for (const notify of waiting) notify(request, n)
    try {
      settle((await answer(request, n, wire, script)) ? 'dropped' : 'answered')
    } catch (error) {
      settle('left')
      if (!wire.gone.aborted) throw error
    }
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port ?? 0, '127.0.0.1', resolve)
  })
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const close = async (): Promise<void> => {
    closing.abort(new Error('the server closes'))
    server.closeAllConnections()
    if (server.listening) await new Promise<void>((resolve) => server.close(() => resolve()))
  }
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    request: (n) =>
      new Promise((resolve) => {
        const there = requests[n]
        if (there !== undefined) return resolve(there)
        waiting.push((request, arrived) => {
          if (arrived === n) resolve(request)
        })
      }),
    close,
    [Symbol.asyncDispose]: close,
  }
}

const dialects: readonly Dialect[] = [chatCompletions, messages, responses, generateContent]

/** Resolves with whether the script cut off the answer. */
async function answer(
  request: ServedRequest,
  n: number,
  wire: Wire,
  script: ModelScript<ServedRequest, ServedStep>,
): Promise<boolean> {
  const path = request.path.replace(/\?.*$/, '')
  const [dialect, wanted] = dialectOf(path, request.body)
  const step = await stepOf<ServedRequest, ServedStep>(script, request, n, (text) => ({ text }))
  if (step === undefined)
    throw new Error(`The script of the model server ended before request ${n + 1}: add a step.`)
  if (step.delayMs !== undefined) await wait(step.delayMs, undefined, { signal: wire.gone })
  const status = step.status ?? 200
  if (step.body !== undefined || status >= 400) {
    const body = step.body ?? dialect.error(status, step.message ?? `scripted error ${status}`)
    head(wire, status, 'application/json', step)
    return sendPieces(wire, [typeof body === 'string' ? body : JSON.stringify(body)], step)
  }
  const wireAnswer = answerOf(step, n, wanted.model, request.body)
  if (!wanted.stream) {
    head(wire, status, 'application/json', step)
    return sendPieces(wire, step.chunks ?? [JSON.stringify(dialect.body(wireAnswer))], step)
  }
  head(wire, status, 'text/event-stream', step)
  if (step.chunks !== undefined) return sendPieces(wire, step.chunks, step)
  return sendEvents(wire, dialect.events(wireAnswer), step)
}

function dialectOf(path: string, body: JsonValue): [Dialect, { stream: boolean; model: string }] {
  for (const dialect of dialects) {
    const wanted = dialect.match(path, body)
    if (wanted !== undefined) return [dialect, wanted]
  }
  throw new Error(
    `The model server does not support ${path}. It answers /v1/chat/completions, /v1/messages, /v1/responses and …:streamGenerateContent.`,
  )
}

function answerOf(step: ServedStep, n: number, model: string, body: JsonValue): WireAnswer {
  const spoken = speak(step, n)
  const { usage } = spoken
  return {
    ...spoken,
    step,
    model,
    n,
    tokens: {
      // Four characters per token, unless the script sets the usage.
      input: usage.inputTokens ?? Math.ceil(JSON.stringify(body).length / 4),
      output: usage.outputTokens ?? Math.ceil((spoken.text.length + spoken.reasoning.length) / 4) + 1,
      cacheRead: usage.cachedInputTokens ?? 0,
      cacheWrite: usage.cacheWriteTokens ?? 0,
      reasoning: usage.reasoningTokens ?? 0,
    },
  }
}

function head({ response }: Wire, status: number, type: string, step: ServedStep): void {
  response.writeHead(status, { 'content-type': type, ...step.headers })
}

async function readBody(incoming: IncomingMessage): Promise<JsonValue> {
  const parts: Buffer[] = []
  for await (const part of incoming) parts.push(part)
  const text = Buffer.concat(parts).toString('utf8')
  return tryOr(() => JSON.parse(text), text)
}

function refuse(response: ServerResponse, message: string): void {
  if (response.headersSent) return void response.destroy()
  // 400 and not 5xx: a client that retries would only reach the end of the script again.
  response.writeHead(400, { 'content-type': 'application/json' })
  response.end(
    JSON.stringify({
      type: 'error',
      error: { type: 'invalid_request_error', message, code: 400, status: 'INVALID_ARGUMENT' },
    }),
  )
}
