import type { AgentEvent } from '../loop/events.js'
import type { RunEvent } from './run-events.js'
import type { UiMessageChunk } from './ui-message-chunk.js'
import { createUiMessageWriter, type UiMessageOptions, type UiMessageWriter } from './ui-message-writer.js'

/** What can be shown: the stream of a run, or what `session.watch` gives. */
export type UiMessageSource = AsyncIterable<AgentEvent | RunEvent>

/**
 * The events of a run as the chunks that chat front ends of the AI SDK read. Who leaves early leaves the source too, at once: the stream
 * that owns its run cancels it, a watched run goes on.
 *
 * @example
 * for await (const chunk of toUiMessageChunks(await session.stream('Fix the tests'))) show(chunk)
 */
export function toUiMessageChunks(
  source: UiMessageSource,
  options: UiMessageOptions = {},
): AsyncIterableIterator<UiMessageChunk, undefined> {
  return new UiMessageChunks(source[Symbol.asyncIterator](), createUiMessageWriter(options))
}

/**
 * The same as an HTTP response: server-sent events, as `useChat` expects them. A client that goes away cancels the body, and with it the
 * run, provided that the server hands that on to the body.
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
    // Nothing is read ahead of the client: what waits, waits in the source, which joins it.
    { highWaterMark: 0 },
  )
  return new Response(body, { headers })
}

const headers = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache',
  'x-vercel-ai-ui-message-stream': 'v1',
  // Some proxies hold answers back until they are whole.
  'x-accel-buffering': 'no',
}

/** By hand, since a generator that waits for an event cannot be left before the event comes. */
class UiMessageChunks implements AsyncIterableIterator<UiMessageChunk, undefined> {
  readonly #source: AsyncIterator<AgentEvent | RunEvent>
  readonly #writer: UiMessageWriter
  #ready: UiMessageChunk[] = []
  #over = false
  #turn: Promise<unknown> = Promise.resolve()
  #leave: () => void = () => undefined

  constructor(source: AsyncIterator<AgentEvent | RunEvent>, writer: UiMessageWriter) {
    this.#source = source
    this.#writer = writer
  }

  /** Calls are served in their order. */
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
    // Not awaited: a watcher that waits for an event hears of it only then.
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
      if (result === undefined) return
      if (result.done === true) {
        this.#over = true
        this.#ready = this.#writer.close()
      } else this.#ready = this.#writer.write(eventOf(result.value))
    } catch {
      // What it says is for the host's own log, not for the reader of a chat.
      this.#over = true
      this.#ready = this.#writer.fail()
    }
  }

  /** Undefined when the reader left meanwhile. */
  #nextEvent(): Promise<IteratorResult<AgentEvent | RunEvent> | undefined> {
    return new Promise((resolve, reject) => {
      this.#leave = () => resolve(undefined)
      this.#source.next().then(resolve, reject)
    })
  }
}

const end: IteratorReturnResult<undefined> = { value: undefined, done: true }

function eventOf(one: AgentEvent | RunEvent): AgentEvent {
  return 'sequence' in one ? one.event : one
}
