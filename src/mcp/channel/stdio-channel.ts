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

/** How much of the beginning and of the end of standard error is kept, for the error when the server dies. */
const complaintBytes = 4_096
/** How much may wait for a server that does not read. */
const maxUnread = 32 * 1024 * 1024
type Exit = Awaited<PipedProcess['exit']>

/** How long a server whose input is closed is given to end. */
const maxExitWaitMs = 1_000

/** A program that is talked to in lines of JSON over its streams. */
export class StdioChannel implements Channel {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: never) => void
  readonly #options: StdioChannelOptions
  #process: PipedProcess | undefined
  /** Settles when the process has ended and all its output was read. */
  #ended: Promise<void> = Promise.resolve()
  /** The beginning and the end of what it wrote to standard error. */
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
    // Closed while it was being started: then it must not stay.
    if (this.#ending !== undefined) return process.end()
    this.#process = process
    let noticed = false
    const reader = new LineReader((message) => {
      const isNotice = message['id'] === undefined
      // The library hears notices a moment later, and answers at once: the last word on progress would come too late.
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
      // What it said last may still be in the pipe.
      await new Promise<void>((resolve) => setTimeout(resolve, 20))
      this.#fail(signal === undefined ? `it ended with exit code ${exitCode}` : `it was ended by ${signal}`)
    })
  }

  async send(message: Message): Promise<void> {
    const stdin = this.#process?.stdin
    // Its input closes before its exit is known, and the exit is what the caller needs to read.
    if (stdin?.writable === false && !this.#isOver) await withTimeout(this.#ended, maxExitWaitMs)
    if (stdin === undefined || this.#isOver || !stdin.writable)
      throw new McpError('mcp_unavailable', this.why ?? 'it is not connected')
    if (stdin.writableLength > maxUnread) throw new McpError('mcp_unavailable', 'it does not read its input')
    stdin.write(`${JSON.stringify(message)}\n`)
  }

  /** Why it ended by itself, with what it wrote to standard error; undefined while it has not, or when we ended it. */
  get why(): string | undefined {
    if (this.#why === undefined) return undefined
    const { stderr } = this.facts
    const noise = this.#reader?.firstSkipped
    if (stderr !== undefined) return `${this.#why}; it said: ${stderr.join(' | ')}`
    return noise === undefined
      ? this.#why
      : `${this.#why}; its output was: ${shownLine(noise, this.#options.redact, 200)}`
  }

  /** How it ended, where it has, and what it wrote to standard error. */
  get facts(): ProcessFacts {
    const head = this.#firstErrors.toString('utf8')
    const isWhole = this.#errorBytes === this.#firstErrors.length
    const stderr = endsOf(head, this.#lastErrors.toString('utf8'), isWhole, this.#options.redact)
    return { ...this.#exit, ...(this.#errorBytes > 0 && stderr.length > 0 && { stderr }) }
  }

  /** What confines the program. */
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

  /** To the library's own handler; what a message holds is checked there. */
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
      // Pending calls must get the error at once, not when the last process has ended.
      this.onclose?.()
    } finally {
      await this.#process?.end()
    }
  }
}
