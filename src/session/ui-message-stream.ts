import type { AgentEvent } from '../loop/events.js'
import { EventStream } from './event-stream.js'
import { earlierEvents, type RunEvent } from './run-events.js'
import type { UiMessageChunk } from './ui-message-chunk.js'
import { createUiMessageWriter, type UiMessageOptions, type UiMessageWriter } from './ui-message-writer.js'
import { shownEvent, type UiPromptEvent } from './ui-prompt-event.js'

/** A source of UI messages: the stream of a run, of `session.watch`, or of a built agent's prompt. */
export type UiMessageSource = AsyncIterable<AgentEvent | RunEvent | UiPromptEvent>

/**
 * Converts the events of a run to the chunks that chat front ends of the AI SDK read. When a reader leaves early, the
 * source is closed immediately: the stream that owns its run cancels it, a watched run continues.
 *
 * @example
 * for await (const chunk of toUiMessageChunks(await session.stream('Fix the tests'))) show(chunk)
 */
export function toUiMessageChunks(
  source: UiMessageSource,
  options: UiMessageOptions = {},
): AsyncIterableIterator<UiMessageChunk, undefined> {
  return new UiMessageChunks(source, options)
}

/**
 * Converts the events of a run to an HTTP response: server-sent events, as `useChat` expects them. When the client
 * disconnects and the server cancels the body, the run is cancelled.
 */
export function toUiMessageResponse(source: UiMessageSource, options: UiMessageOptions = {}): Response {
  const chunks = toUiMessageChunks(source, options)
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value } = await chunks.next()
        controller.enqueue(
          encoder.encode(`data: ${value === undefined ? '[DONE]' : JSON.stringify(value)}\n\n`),
        )
        if (value === undefined) controller.close()
      },
      async cancel() {
        await chunks.return?.()
      },
    },
    // Nothing is read ahead of the client: events wait in the source, which merges them.
    { highWaterMark: 0 },
  )
  return new Response(body, { headers })
}

const headers = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache',
  'x-vercel-ai-ui-message-stream': 'v1',
  // Some proxies buffer a response until it is complete.
  'x-accel-buffering': 'no',
}

/** Hand-written, because a generator that waits for an event cannot be closed before the event arrives. */
class UiMessageChunks implements AsyncIterableIterator<UiMessageChunk, undefined> {
  readonly #events: UiMessageSource
  readonly #source: AsyncIterator<SourceEvent>
  readonly #writer: UiMessageWriter
  readonly #endAtApproval: boolean
  #ready: UiMessageChunk[] = []
  #over = false
  /** The sequence number of the last event that was written; 0 before the first. */
  #sequence = 0
  #turn: Promise<unknown> = Promise.resolve()
  #leave: () => void = () => undefined

  constructor(events: UiMessageSource, options: UiMessageOptions) {
    this.#events = events
    this.#source = events[Symbol.asyncIterator]()
    this.#writer = createUiMessageWriter(options)
    this.#endAtApproval = options.endAtApproval === true
    if (this.#endAtApproval) this.#continue()
  }

  /** Continues the message of an earlier response, if the source begins after the start of its run. */
  #continue(): void {
    const earlier: unknown = Reflect.get(this.#events, earlierEvents)
    const events: RunEvent[] = typeof earlier === 'function' ? earlier() : []
    const last = events.at(-1)
    if (last === undefined) return
    this.#sequence = last.sequence
    this.#writer.continueAfter(events.map(({ event }) => event))
  }

  /** Serves calls in order. */
  next(): Promise<IteratorResult<UiMessageChunk, undefined>> {
    const result = this.#turn.then(() => this.#take())
    this.#turn = result
    return result
  }

  async return(): Promise<IteratorResult<UiMessageChunk, undefined>> {
    this.#ready = []
    if (this.#over) return end
    this.#over = true
    this.#leave()
    // Not awaited: a watcher that waits for an event returns only after that event.
    this.#source.return?.().catch(() => undefined)
    return end
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async #take(): Promise<IteratorResult<UiMessageChunk, undefined>> {
    for (;;) {
      const chunk = this.#ready.shift()
      if (chunk !== undefined) return { value: chunk, done: false }
      if (this.#over) return end
      await this.#more()
    }
  }

  async #more(): Promise<void> {
    try {
      const result = await this.#nextEvent()
      if (result === 'left') return
      if (result === 'quiet') this.#pause()
      else if (result.done === true) {
        this.#over = true
        this.#ready = this.#writer.close()
      } else this.#write(result.value)
    } catch {
      // The error text is for the host's log, not for the user of a chat.
      this.#over = true
      this.#ready = this.#writer.fail()
    }
  }

  #write(one: SourceEvent): void {
    const placed = 'sequence' in one ? one : undefined
    // Events that are no longer in memory were shown by the previous response.
    if (this.#endAtApproval && this.#sequence === 0 && placed !== undefined && placed.sequence > 1)
      this.#writer.continueAfter([])
    if (placed !== undefined) this.#sequence = placed.sequence
    else if (this.#events instanceof EventStream) this.#sequence = this.#events.sequence
    const event = shownEvent('sequence' in one ? one.event : one)
    this.#ready = event === undefined ? [] : this.#writer.write(event)
    if (this.#endAtApproval && this.#writer.approvals() === 'all') this.#pause()
  }

  /** Ends the response. The run continues: a stream that owns it is released, not cancelled. */
  #pause(): void {
    this.#over = true
    this.#ready = [...this.#ready, ...this.#writer.pause(this.#sequence)]
    if (this.#events instanceof EventStream) this.#events.end()
    else this.#source.return?.().catch(() => undefined)
  }

  /**
   * Returns the next event; `left` when the reader left, `quiet` when no event comes while some calls wait for an
   * approval.
   */
  #nextEvent(): Promise<IteratorResult<SourceEvent> | 'left' | 'quiet'> {
    return new Promise((resolve, reject) => {
      const someWait = this.#endAtApproval && this.#writer.approvals() !== 'none'
      const timer = someWait ? setTimeout(() => resolve('quiet'), quietMs) : undefined
      this.#leave = () => {
        clearTimeout(timer)
        resolve('left')
      }
      this.#source.next().then(
        (result) => {
          clearTimeout(timer)
          resolve(result)
        },
        (error: unknown) => {
          clearTimeout(timer)
          reject(error)
        },
      )
    })
  }
}

type SourceEvent = AgentEvent | RunEvent | UiPromptEvent

/**
 * How long to wait for further approvals, in milliseconds: the calls of a round request theirs at about the same time.
 * Calls that continue to run, or that wait for another call's approval, are not waited for.
 */
const quietMs = 150

const end: IteratorReturnResult<undefined> = { value: undefined, done: true }
