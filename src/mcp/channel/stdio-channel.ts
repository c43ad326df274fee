import type { PipedProcess } from '../../workspace/shell/index.js'
import { withTimeout } from '../../workspace/shell/with-timeout.js'
import { endsOf, type ProcessFacts } from '../describe-failure.js'
import { McpError } from '../errors.js'
import type { Redact } from '../secrets.js'
import { shownLine } from '../secrets.js'
import type { Channel, Message } from './channel.js'
import { LineReader } from './line-reader.js'

export type StdioChannelOptions = {
  startProcess(): Promise<PipedProcess>
  readonly redact: Redact
}

/**
 * How many bytes of the beginning and of the end of standard error are saved, for the error when the server exits.
 */
const complaintBytes = 4_096
/** How many bytes can wait for a server that does not read its input. */
const maxUnread = 32 * 1024 * 1024
type Exit = Awaited<PipedProcess['exit']>

/** How long a server has to exit after its input was closed. */
const maxExitWaitMs = 1_000

/** A program that exchanges lines of JSON over its standard streams. */
export class StdioChannel implements Channel {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: never) => void
  readonly #options: StdioChannelOptions
  #process: PipedProcess | undefined
  /** Settles when the process has ended and all its output was read. */
  #ended: Promise<void> = Promise.resolve()
  /** The beginning and the end of what the program wrote to standard error. */
  #firstErrors = Buffer.alloc(0)
  #lastErrors = Buffer.alloc(0)
  #errorBytes = 0
  #exit: Exit | undefined
  #reader: LineReader | undefined
  #why: string | undefined
  #ending: Promise<void> | undefined

  constructor(options: StdioChannelOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    const process = await this.#options.startProcess()
    // The channel was closed while the program was starting: end the program.
    if (this.#ending !== undefined) return process.end()
    this.#process = process
    let noticed = false
    const reader = new LineReader((message) => {
      const isNotice = message['id'] === undefined
      // The library handles notifications a tick later but responses at once: without this delay, the last progress
      // notification would arrive after the response.
      if (noticed && !isNotice) setImmediate(() => this.#deliver(message))
      else this.#deliver(message)
      noticed ||= isNotice
    })
    this.#reader = reader
    process.stdout.on('data', (chunk: Buffer) => {
      if (this.#isOver) return
      noticed = false
      const problem = reader.add(chunk)
      if (problem !== undefined) this.#fail(problem)
    })
    process.stderr.on('data', (chunk: Buffer) => {
      this.#errorBytes += chunk.length
      const room = complaintBytes - this.#firstErrors.length
      if (room > 0) this.#firstErrors = Buffer.concat([this.#firstErrors, chunk.subarray(0, room)])
      this.#lastErrors = Buffer.concat([this.#lastErrors, chunk.subarray(-complaintBytes)]).subarray(
        -complaintBytes,
      )
    })
    for (const stream of [process.stdout, process.stderr])
      stream.on('error', (error) => this.onerror?.(error))
    this.#ended = process.exit.then(async (exit) => {
      const { exitCode, signal } = exit
      this.#exit = exit
      // The last output of the program may still be in the pipe.
      await new Promise<void>((resolve) => setTimeout(resolve, 20))
      this.#fail(signal === undefined ? `it ended with exit code ${exitCode}` : `it was ended by ${signal}`)
    })
  }

  async send(message: Message): Promise<void> {
    const stdin = this.#process?.stdin
    // The input closes before the exit is known, and the error should report the exit.
    if (stdin?.writable === false && !this.#isOver) await withTimeout(this.#ended, maxExitWaitMs)
    if (stdin === undefined || this.#isOver || !stdin.writable)
      throw new McpError('mcp_unavailable', this.why ?? 'it is not connected')
    if (stdin.writableLength > maxUnread) throw new McpError('mcp_unavailable', 'it does not read its input')
    stdin.write(`${JSON.stringify(message)}\n`)
  }

  /**
   * Why the program exited by itself, with what it wrote to standard error; undefined while it runs, or when we ended
   * it.
   */
  get why(): string | undefined {
    if (this.#why === undefined) return undefined
    const { stderr } = this.facts
    const noise = this.#reader?.firstSkipped
    if (stderr !== undefined) return `${this.#why}; it said: ${stderr.join(' | ')}`
    return noise === undefined
      ? this.#why
      : `${this.#why}; its output was: ${shownLine(noise, this.#options.redact, 200)}`
  }

  /** How the program exited, if it has, and what it wrote to standard error. */
  get facts(): ProcessFacts {
    const head = this.#firstErrors.toString('utf8')
    const isWhole = this.#errorBytes === this.#firstErrors.length
    const stderr = endsOf(head, this.#lastErrors.toString('utf8'), isWhole, this.#options.redact)
    return { ...this.#exit, ...(this.#errorBytes > 0 && stderr.length > 0 && { stderr }) }
  }

  /** The name of the sandbox that confines the program. */
  get sandbox(): string | undefined {
    return this.#process?.sandbox
  }

  close(): Promise<void> {
    this.#ending ??= this.#end()
    return this.#ending
  }

  get #isOver(): boolean {
    return this.#why !== undefined || this.#ending !== undefined
  }

  /** Passes a message to the library's handler, which checks its content. */
  #deliver(message: Message): void {
    this.onmessage?.(message as never)
  }

  #fail(why: string): void {
    if (this.#isOver) return
    this.#why = why
    void this.close()
  }

  async #end(): Promise<void> {
    try {
      // Pending calls must fail at once, not when the last process has ended.
      this.onclose?.()
    } finally {
      await this.#process?.end()
    }
  }
}
