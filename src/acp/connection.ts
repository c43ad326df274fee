import type { Readable, Writable } from 'node:stream'
import { type LineLimits, LineReader } from '../mcp/channel/line-reader.js'
import { isRecord } from '../tool/json.js'
import { withTimeout } from '../workspace/shell/with-timeout.js'
import { RpcError, rpcCodes, toRpcError } from './rpc-error.js'

/** The context of an incoming request. */
export type IncomingCall = {
  /** Aborted by `$/cancel_request` and when the connection ends. */
  readonly signal: AbortSignal
  /** Runs work after the response was written, so that nothing it sends can arrive before the response. */
  afterResponse(work: LaterWork): void
}

type LaterWork = () => void | Promise<void>

export type ConnectionOptions = {
  readonly input: Readable
  readonly output: Writable
  /** Handles a request or a notification, whose result is not sent. Throw an `RpcError` to choose the code. */
  handle(method: string, params: unknown, call: IncomingCall): Promise<unknown>
  /** Receives errors that belong to no request. */
  report(error: unknown): void
}

/** Large, because a line can contain images and files. */
const limits: LineLimits = { maxLineBytes: 128 * 1024 * 1024, maxNoiseBytes: 1024 * 1024 }
/** How long requests can still be answered after the other side has ended its output. */
const drainMs = 2_000

/**
 * JSON-RPC 2.0 as lines of JSON over two streams, in both directions. Requests are handled concurrently; the
 * synchronous part of a handler runs before the next message is read.
 */
export class Connection {
  /** Resolves when the client has disconnected, or `close` was called, and all handlers have ended. */
  readonly closed: Promise<void>
  readonly #options: ConnectionOptions
  readonly #incoming = new Map<string | number, AbortController>()
  readonly #outgoing = new Map<number, Waiting>()
  readonly #handlers = new Set<Promise<void>>()
  readonly #ending = new AbortController()
  #lastId = 0
  #isEnding = false
  #isClosed = false
  #resolveClosed: () => void = () => undefined

  constructor(options: ConnectionOptions) {
    this.#options = options
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve
    })
    const reader = new LineReader(
      (message) => this.#take(message),
      limits,
      (line) => this.#refuse(line),
    )
    const { input, output } = options
    input.on('data', (chunk: Buffer | string) => {
      if (this.#isEnding) return
      const problem = reader.add(typeof chunk === 'string' ? Buffer.from(chunk) : chunk)
      if (problem === undefined) return
      this.#options.report(new Error(`The connection was closed: ${problem}.`))
      void this.close()
    })
    input.on('end', () => void this.close())
    input.on('close', () => void this.close())
    input.on('error', () => void this.close())
    output.on('error', () => void this.close())
  }

  /** Aborted when the connection ends. */
  get signal(): AbortSignal {
    return this.#ending.signal
  }

  /** Calls a method of the other side. Aborting `signal` cancels the request there and rejects here at once. */
  request(method: string, params: unknown, signal?: AbortSignal): Promise<unknown> {
    if (this.#isEnding || signal?.aborted === true) return Promise.reject(cancelled())
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        if (!this.#outgoing.delete(id)) return
        void this.notify('$/cancel_request', { requestId: id })
        reject(cancelled())
      }
      const settled = (): void => signal?.removeEventListener('abort', abort)
      this.#outgoing.set(id, {
        resolve: (value) => {
          settled()
          resolve(value)
        },
        reject: (error) => {
          settled()
          reject(error)
        },
      })
      signal?.addEventListener('abort', abort, { once: true })
      void this.#send({ id, method, params })
    })
  }

  /** Sends a notification. Resolves when the stream accepts more data, so that callers wait for a slow reader. */
  notify(method: string, params: unknown): Promise<void> {
    return this.#send({ method, params })
  }

  /** Cancels all requests in both directions, waits for the handlers, and closes the connection. */
  async close(): Promise<void> {
    if (this.#isEnding) return this.closed
    this.#isEnding = true
    this.#ending.abort()
    for (const waiting of this.#outgoing.values()) waiting.reject(cancelled())
    this.#outgoing.clear()
    for (const incoming of this.#incoming.values()) incoming.abort()
    await withTimeout(Promise.all(this.#handlers), drainMs)
    this.#isClosed = true
    this.#options.input.pause()
    this.#resolveClosed()
  }

  #take(message: Readonly<Record<string, unknown>>): void {
    const { id, method } = message
    if (typeof method === 'string') {
      const handling =
        id === undefined ? this.#notified(method, message) : this.#requested(id, method, message)
      const tracked = handling.finally(() => this.#handlers.delete(tracked))
      this.#handlers.add(tracked)
    } else if (typeof id === 'number' && this.#outgoing.has(id)) this.#answered(id, message)
    // Responses to requests that were cancelled here are ignored.
    else if (!('result' in message) && !('error' in message))
      void this.#send({ id: isId(id) ? id : null, error: refusal('A message needs a method.') })
  }

  async #requested(
    id: unknown,
    method: string,
    { params }: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    if (!isId(id) || this.#incoming.has(id)) {
      const why = isId(id) ? 'A request with this id is not answered yet.' : 'An id is a string or a number.'
      return this.#send({ id: isId(id) ? id : null, error: refusal(why) })
    }
    const stopping = new AbortController()
    this.#incoming.set(id, stopping)
    const later: LaterWork[] = []
    let outcome: object
    try {
      const call = { signal: stopping.signal, afterResponse: (work: LaterWork) => void later.push(work) }
      outcome = { result: (await this.#options.handle(method, params, call)) ?? {} }
    } catch (error) {
      later.length = 0
      outcome = { error: errorObject(stopping.signal.aborted ? cancelled() : toRpcError(error)) }
    }
    this.#incoming.delete(id)
    await this.#send({ id, ...outcome })
    for (const work of later) await this.#doLater(work)
  }

  async #doLater(work: LaterWork): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.#options.report(error)
    }
  }

  async #notified(method: string, { params }: Readonly<Record<string, unknown>>): Promise<void> {
    if (method === '$/cancel_request') {
      const id = isRecord(params) ? params['requestId'] : undefined
      if (isId(id)) this.#incoming.get(id)?.abort()
      return
    }
    try {
      await this.#options.handle(method, params, {
        signal: this.signal,
        afterResponse: (work) => void this.#doLater(work),
      })
    } catch (error) {
      // Unknown notifications are ignored, as JSON-RPC requires.
      if (toRpcError(error).code !== rpcCodes.methodNotFound) this.#options.report(error)
    }
  }

  #answered(id: number, message: Readonly<Record<string, unknown>>): void {
    const waiting = this.#outgoing.get(id)
    this.#outgoing.delete(id)
    const { error } = message
    if (error === undefined || error === null) {
      waiting?.resolve(message['result'])
      return
    }
    const { code, message: text } = isRecord(error) ? error : {}
    waiting?.reject(
      new RpcError(
        typeof code === 'number' ? code : rpcCodes.internalError,
        typeof text === 'string' ? text : 'The client answered with an error.',
      ),
    )
  }

  #refuse(line: string): void {
    const isJson = isParsable(line)
    const code = isJson ? rpcCodes.invalidRequest : rpcCodes.parseError
    const message = isJson ? 'This is not a JSON-RPC 2.0 message.' : 'This line is not JSON.'
    void this.#send({ id: null, error: { code, message } })
  }

  #send(message: object): Promise<void> {
    const { output } = this.#options
    if (this.#isClosed || output.destroyed || !output.writable) return Promise.resolve()
    return new Promise((resolve) => {
      // The callback is also called with an error, which the stream's error listener handles.
      output.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`, () => resolve())
    })
  }
}

type Waiting = { resolve(value: unknown): void; reject(error: Error): void }

function cancelled(): RpcError {
  return new RpcError(rpcCodes.requestCancelled, 'The request was cancelled.')
}

function refusal(message: string): object {
  return { code: rpcCodes.invalidRequest, message }
}

function errorObject({ code, message, data }: RpcError): object {
  return { code, message, data }
}

function isId(id: unknown): id is string | number {
  return typeof id === 'string' || typeof id === 'number'
}

function isParsable(line: string): boolean {
  try {
    JSON.parse(line)
    return true
  } catch {
    // The text is not JSON.
    return false
  }
}
