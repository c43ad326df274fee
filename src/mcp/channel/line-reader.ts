import { Lines } from '../../feature/lines.js'
import { tryOr } from '../../tool/errors.js'
import { isRecord } from '../../tool/json.js'
import type { Message } from './channel.js'

export type LineLimits = {
  /** The maximum length of a line. */
  readonly maxLineBytes: number
  /** How many bytes that are not a message can come before the next message. */
  readonly maxNoiseBytes: number
}

/** The maximum size of one message from a server. */
export const maxMessageBytes = 10 * 1024 * 1024

const usual: LineLimits = { maxLineBytes: maxMessageBytes, maxNoiseBytes: 16 * 1024 * 1024 }

/**
 * Reads lines of JSON from a server and passes each message to `take`. Lines that are not messages are skipped, up to
 * a limit, because some servers print greetings and warnings to standard output. Returns a description of the problem
 * when the stream can no longer be read.
 */
export class LineReader {
  readonly #take: (message: Message) => void
  readonly #lines: Lines
  readonly #maxNoiseBytes: number
  readonly #onSkipped: ((line: string) => void) | undefined
  #noise = 0
  /** The number of lines that were not messages. */
  skipped = 0
  /** The first skipped line, for error messages. */
  firstSkipped: string | undefined

  constructor(
    take: (message: Message) => void,
    { maxLineBytes, maxNoiseBytes }: LineLimits = usual,
    onSkipped?: (line: string) => void,
  ) {
    this.#take = take
    this.#lines = new Lines((line) => this.#read(line), maxLineBytes)
    this.#maxNoiseBytes = maxNoiseBytes
    this.#onSkipped = onSkipped
  }

  /** Returns a problem, or undefined while reading can continue. */
  add(chunk: Buffer): string | undefined {
    return this.#lines.add(chunk)
  }

  #read(text: string): string | undefined {
    const message = parse(text)
    if (message !== undefined) {
      this.#noise = 0
      this.#take(message)
      return undefined
    }
    this.skipped++
    this.firstSkipped ??= text.slice(0, 200)
    this.#onSkipped?.(text)
    this.#noise += Buffer.byteLength(text)
    return this.#noise > this.#maxNoiseBytes
      ? `it sent ${this.#noise} bytes that are not messages`
      : undefined
  }
}

function parse(text: string): Message | undefined {
  // Cheap check first: a line that does not start with a brace is not a message.
  if (!/^\s*\{/.test(text)) return undefined
  // Not JSON: an incomplete message, or a greeting that begins with a brace.
  const value: unknown = tryOr(() => JSON.parse(text), undefined)
  return isRecord(value) && value['jsonrpc'] === '2.0' ? (value as Message) : undefined
}
