import type { Readable, Writable } from 'node:stream'
import type { Channel, Message } from './channel.js'
import { LineReader } from './line-reader.js'

/** Lines of JSON over two streams: how another agent talks to us. */
export class StreamChannel implements Channel {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: never) => void
  readonly #input: Readable
  readonly #output: Writable
  #closed = false
  readonly #read = (chunk: Buffer | string): void => {
    const problem = this.#reader.add(typeof chunk === 'string' ? Buffer.from(chunk) : chunk)
    if (problem === undefined) return
    this.onerror?.(new Error(problem))
    void this.close()
  }
  readonly #end = (): void => void this.close()
  readonly #reader = new LineReader((message) => this.onmessage?.(message as never))

  constructor(input: Readable, output: Writable) {
    this.#input = input
    this.#output = output
  }

  async start(): Promise<void> {
    this.#input.on('data', this.#read)
    this.#input.on('end', this.#end)
    this.#input.on('error', this.#end)
    this.#output.on('error', this.#end)
  }

  async send(message: Message): Promise<void> {
    if (this.#closed) throw new Error('the other side has gone')
    this.#output.write(`${JSON.stringify(message)}\n`)
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#input.off('data', this.#read)
    this.#input.off('end', this.#end)
    this.#input.pause()
    this.onclose?.()
  }
}
