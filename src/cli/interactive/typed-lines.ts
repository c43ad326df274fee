import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

/**
 * Reads the lines that a user types. A line that was typed before a question was asked is a prompt, never the answer.
 */
export class TypedLines {
  readonly #prompts: string[] = []
  #answer: ((line: string | undefined) => void) | undefined
  #prompt: ((line: string | undefined) => void) | undefined
  #hasEnded = false
  readonly #lines

  constructor(input: Readable) {
    this.#lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY, terminal: false })
    this.#lines.on('line', (line) => {
      const take = this.#answer ?? this.#prompt
      if (take === undefined) this.#prompts.push(line)
      else take(line)
    })
    this.#lines.once('close', () => {
      this.#hasEnded = true
      this.#answer?.(undefined)
      this.#prompt?.(undefined)
    })
  }

  /** The next prompt; undefined at the end of the input. */
  next(): Promise<string | undefined> {
    const line = this.#prompts.shift()
    if (line !== undefined || this.#hasEnded) return Promise.resolve(line)
    return new Promise((resolve) => {
      this.#prompt = (typed) => {
        this.#prompt = undefined
        resolve(typed)
      }
    })
  }

  /** The next line that is typed after this call; undefined at the end of the input, or when `signal` aborts. */
  answer(signal: AbortSignal | undefined): Promise<string | undefined> {
    if (this.#hasEnded || signal?.aborted === true) return Promise.resolve(undefined)
    return new Promise((resolve) => {
      const take = (typed: string | undefined): void => {
        signal?.removeEventListener('abort', withdrawn)
        this.#answer = undefined
        resolve(typed)
      }
      const withdrawn = (): void => take(undefined)
      signal?.addEventListener('abort', withdrawn, { once: true })
      this.#answer = take
    })
  }

  close(): void {
    this.#lines.close()
  }
}
