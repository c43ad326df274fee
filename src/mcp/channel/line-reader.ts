import { isRecord } from '../../tool/json.js'
import type { Message } from './channel.js'

export type LineLimits = {
  /** The longest line. */
  readonly maxLineBytes: number
  /** How much that is no message may come before the next that is one. */
  readonly maxNoiseBytes: number
}

/** A server may send that much in one message. */
export const maxMessageBytes = 10 * 1024 * 1024

const usual: LineLimits = { maxLineBytes: maxMessageBytes, maxNoiseBytes: 16 * 1024 * 1024 }

/**
 * Reads lines of JSON from a server. What is no message is passed over, up to a limit, since servers print greetings
 * and warnings where they should not. Gives each message to `take`; says in words when the stream can no longer be
 * read.
 */
export class LineReader {
  readonly #take: (message: Message) => void
  readonly #limits: LineLimits
  readonly #onSkipped: ((line: string) => void) | undefined
  #parts: Buffer[] = []
  #bytes = 0
  #noise = 0
  /** Lines that were no messages. */
  skipped = 0
  /** The first skipped line, for error messages. */
  firstSkipped: string | undefined

  constructor(
    take: (message: Message) => void,
    limits: LineLimits = usual,
    onSkipped?: (line: string) => void,
  ) {
    this.#take = take
    this.#limits = limits
    this.#onSkipped = onSkipped
  }

  /** Returns a problem, or undefined while reading can continue. */
  add(chunk: Buffer): string | undefined {
    let from = 0
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, from)) {
      const problem = this.#keep(chunk.subarray(from, end)) ?? this.#line()
      if (problem !== undefined) return problem
      from = end + 1
    }
    return this.#keep(chunk.subarray(from))
  }

  #keep(part: Buffer): string | undefined {
    this.#bytes += part.length
    if (this.#bytes > this.#limits.maxLineBytes)
      return `it sent a line of more than ${this.#limits.maxLineBytes} bytes`
    if (part.length > 0) this.#parts.push(part)
    return undefined
  }

  #line(): string | undefined {
    const bytes = this.#bytes
    const text = Buffer.concat(this.#parts).toString('utf8')
    this.#parts = []
    this.#bytes = 0
    const message = parse(text)
    if (message !== undefined) {
      this.#noise = 0
      this.#take(message)
      return undefined
    }
    if (text.trim() === '') return undefined
    this.skipped++
    this.firstSkipped ??= text.slice(0, 200)
    this.#onSkipped?.(text)
    this.#noise += bytes
    return this.#noise > this.#limits.maxNoiseBytes
      ? `it sent ${this.#noise} bytes that are no messages`
      : undefined
  }
}

const newline = 0x0a

function parse(text: string): Message | undefined {
  // Cheap first: what is no object is no message.
  if (!/^\s*\{/.test(text)) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) && value['jsonrpc'] === '2.0' ? (value as Message) : undefined
  } catch {
    // Half a message, or a greeting that begins with a brace.
    return undefined
  }
}
