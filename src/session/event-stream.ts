import type { AgentEvent } from '../loop/events.js'

/**
 * The events of a run, for the caller that started it: read them with `next()` or `for await`. Leaving the loop early
 * cancels the run. A slow reader does not delay the run: waiting pieces of text are merged, so nothing is lost and
 * memory does not exceed the size of the text.
 */
export class EventStream implements AsyncIterableIterator<AgentEvent, undefined> {
  #waiting: AgentEvent[] = []
  #at = 0
  #readers: ((result: IteratorResult<AgentEvent, undefined>) => void)[] = []
  #ended = false
  #given = 0
  /** The number of the run's events that a merged event represents. */
  #joined: WeakMap<AgentEvent, number> | undefined
  readonly #leave: () => void

  constructor(leave: () => void) {
    this.#leave = leave
  }

  /** The sequence number of the last event that was returned: `session.watch(runId, { from })` continues after it. */
  get sequence(): number {
    return this.#given
  }

  /** Returns the next event. Buffered events are returned before the end; after the end every call returns the end. */
  next(): Promise<IteratorResult<AgentEvent, undefined>> {
    const event = this.#waiting[this.#at]
    if (event !== undefined) {
      this.#waiting[this.#at++] = taken
      this.#given += this.#joined?.get(event) ?? 1
      // Events that were read are removed in bulk, even if a reader is always a little slow.
      if (this.#at === this.#waiting.length || this.#at > maxTaken) {
        this.#waiting = this.#waiting.slice(this.#at)
        this.#at = 0
      }
      return Promise.resolve({ value: event, done: false })
    }
    if (this.#ended) return Promise.resolve(over)
    return new Promise((resolve) => this.#readers.push(resolve))
  }

  /** Cancels the run if it is still active, and ends the stream. */
  return(): Promise<IteratorResult<AgentEvent, undefined>> {
    this.#waiting = []
    this.#at = 0
    if (!this.#ended) {
      this.end()
      this.#leave()
    }
    return Promise.resolve(over)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  push(event: AgentEvent): void {
    if (this.#ended) return
    const reader = this.#readers.shift()
    if (reader !== undefined) {
      this.#given += 1
      reader({ value: event, done: false })
      return
    }
    const last = this.#waiting.length - 1
    const before = this.#waiting[last]
    const joined = this.#waiting.length - this.#at > most ? join(before, event) : undefined
    if (before === undefined || joined === undefined) this.#waiting.push(event)
    else {
      this.#waiting[last] = joined
      this.#joined ??= new WeakMap()
      this.#joined.set(joined, (this.#joined.get(before) ?? 1) + 1)
    }
  }

  end(): void {
    this.#ended = true
    for (const reader of this.#readers.splice(0)) reader(over)
  }
}

const over: IteratorReturnResult<undefined> = { value: undefined, done: true }
const taken: AgentEvent = { type: 'events_missed', count: 0 }
/** The number of events that wait unmerged; beyond it, pieces of text are merged. */
const most = 512
const maxTaken = 1024

/** Merges two pieces of the same text; undefined when they cannot be merged. */
function join(last: AgentEvent | undefined, event: AgentEvent): AgentEvent | undefined {
  if (last?.text === undefined || event.text === undefined || last.type !== event.type) return undefined
  if (last.toolId !== event.toolId) return undefined
  if ('whole' in event) return 'whole' in last ? event : undefined
  if ('whole' in last) return undefined
  return { ...last, text: last.text + event.text } as AgentEvent
}
