import type { Readable, Writable } from 'node:stream'
import type { Channel, Message } from './channel.js'
import { LineReader } from './line-reader.js'
import { Unanswered } from './unanswered.js'

/** Lines of JSON over two streams: the channel to another agent that uses our tools. */
export class StreamChannel implements Channel {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: never) => void
  readonly #input: Readable
  readonly #output: Writable
  readonly #drainMs: number
  readonly #unanswered = new Unanswered()
  #draining: NodeJS.Timeout | undefined
  #closed = false
  readonly #read = (chunk: Buffer | string): void => {
    const problem = this.#reader.add(typeof chunk === 'string' ? Buffer.from(chunk) : chunk)
    if (problem === undefined) return
    this.onerror?.(new Error(problem))
    void this.close()
  }
  /** A client that has ended its input may still be waiting for answers. */
  readonly #ended = (): void => {
    if (this.#unanswered.count === 0 || this.#drainMs === 0) void this.close()
    else this.#draining = setTimeout(this.#gone, this.#drainMs)
  }
  readonly #gone = (): void => void this.close()
  readonly #reader = new LineReader((message) => {
    this.#unanswered.received(message)
    this.onmessage?.(message as never)
  })

  /** `drainMs`: how long requests that arrived before the end of the input have to be answered. */
  constructor(input: Readable, output: Writable, drainMs = 0) {
    this.#input = input
    this.#output = output
    this.#drainMs = drainMs
  }

  async start(): Promise<void> {
    this.#input.on('data', this.#read)
    this.#input.on('end', this.#ended)
    this.#input.on('error', this.#gone)
    this.#output.on('error', this.#gone)
  }

  async send(message: Message): Promise<void> {
    if (this.#closed) throw new Error('the client has disconnected')
    this.#output.write(`${JSON.stringify(message)}\n`)
    this.#unanswered.sent(message)
    if (this.#draining !== undefined && this.#unanswered.count === 0) await this.close()
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    clearTimeout(this.#draining)
    this.#input.off('data', this.#read)
    this.#input.off('end', this.#ended)
    this.#input.pause()
    this.onclose?.()
  }
}
