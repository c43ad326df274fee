import type { AgentStreamEvent } from './prompt-events.js'

/** Runs until it is done or aborted, and emits events. */
export type Work = (emit: (event: AgentStreamEvent) => void, signal: AbortSignal) => Promise<void>

type Step = IteratorResult<AgentStreamEvent, undefined>

/**
 * The events of one prompt. The run starts when the first event is read. Leaving the loop early stops the run and waits
 * until its tools have ended. A failure is emitted as an event, then thrown.
 */
export class PromptStream implements AsyncIterableIterator<AgentStreamEvent, undefined> {
  readonly #work: Work
  readonly #left = new AbortController()
  #running: Promise<void> | undefined
  readonly #waiting: AgentStreamEvent[] = []
  readonly #readers: { resolve(step: Step): void; reject(error: unknown): void }[] = []
  #ended: { readonly failure?: { readonly error: unknown } } | undefined

  constructor(work: Work) {
    this.#work = work
  }

  next(): Promise<Step> {
    this.#running ??= this.#run()
    return new Promise((resolve, reject) => {
      this.#readers.push({ resolve, reject })
      this.#serve()
    })
  }

  async return(): Promise<Step> {
    this.#left.abort(new DOMException('the events are no longer read', 'AbortError'))
    this.#waiting.length = 0
    this.#running ??= Promise.resolve()
    await this.#running
    this.#waiting.length = 0
    this.#ended = {}
    this.#serve()
    return over
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async #run(): Promise<void> {
    try {
      await this.#work((event) => {
        this.#waiting.push(event)
        this.#serve()
      }, this.#left.signal)
      this.#ended = {}
    } catch (error) {
      this.#ended = { failure: { error } }
    }
    this.#serve()
  }

  #serve(): void {
    while (this.#readers.length > 0) {
      const event = this.#waiting.shift()
      if (event === undefined && this.#ended === undefined) return
      const reader = this.#readers.shift()
      if (event !== undefined) reader?.resolve({ value: event, done: false })
      else if (this.#ended?.failure === undefined) reader?.resolve(over)
      else {
        reader?.reject(this.#ended.failure.error)
        // Thrown once; the stream then ends.
        this.#ended = {}
      }
    }
  }
}

const over: IteratorReturnResult<undefined> = { value: undefined, done: true }
