/** Takes a stream apart into its lines. Says in words when a line is longer than it may be. */
export class Lines {
  readonly #take: (line: string) => void
  readonly #maxBytes: number
  #parts: Buffer[] = []
  #bytes = 0

  constructor(take: (line: string) => void, maxBytes: number) {
    this.#take = take
    this.#maxBytes = maxBytes
  }

  /** Undefined as long as it can continue. */
  add(chunk: Buffer): string | undefined {
    let from = 0
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, from)) {
      const problem = this.#keep(chunk.subarray(from, end))
      if (problem !== undefined) return problem
      const line = Buffer.concat(this.#parts).toString('utf8')
      this.#parts = []
      this.#bytes = 0
      if (line.trim() !== '') this.#take(line)
      from = end + 1
    }
    return this.#keep(chunk.subarray(from))
  }

  #keep(part: Buffer): string | undefined {
    this.#bytes += part.length
    if (this.#bytes > this.#maxBytes) return `it sent a message of more than ${this.#maxBytes} bytes`
    if (part.length > 0) this.#parts.push(part)
    return undefined
  }
}

const newline = 0x0a
