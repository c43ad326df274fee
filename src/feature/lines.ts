/** Splits a stream into lines, without the blank ones. */
export class Lines {
  readonly #take: (line: string) => string | undefined
  readonly #maxBytes: number
  #parts: Buffer[] = []
  #bytes = 0

  /** `take` receives each line, and returns a problem when the stream cannot be read further. */
  constructor(take: (line: string) => string | undefined, maxBytes: number) {
    this.#take = take
    this.#maxBytes = maxBytes
  }

  /** Returns a problem, or undefined while reading can continue. */
  add(chunk: Buffer): string | undefined {
    let from = 0
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, from)) {
      const problem = this.#keep(chunk.subarray(from, end))
      if (problem !== undefined) return problem
      const line = Buffer.concat(this.#parts).toString('utf8')
      this.#parts = []
      this.#bytes = 0
      const refused = line.trim() === '' ? undefined : this.#take(line)
      if (refused !== undefined) return refused
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
