import type { AgentEvent } from '../loop/events.js'
import type { SessionOptions } from '../session/options.js'
import type { SendRequest } from '../session/request.js'
import type { Session } from '../session/session.js'
import { CapstanError } from '../tool/errors.js'
import type { AcpHost } from './acp-host.js'
import type { Place } from './options.js'
import { UpdateWriter } from './update-writer.js'
import type { SessionUpdate, StopReason } from './wire.js'

/** A session that is open here, and what its client knows of it. */
export class AcpSession {
  readonly session: Session
  readonly place: Place
  readonly writer: UpdateWriter
  readonly #host: AcpHost
  readonly #prompts = new Set<AbortController>()
  #title: string | null

  constructor(host: AcpHost, place: Place, options: SessionOptions) {
    this.#host = host
    this.place = place
    this.session = place.open({ sessionStore: place.store, ...options })
    this.#title = this.session.title
    this.writer = new UpdateWriter({
      contextSize: () => 0,
      costUsd: () => this.session.spending().costUsd,
      changesOf: () => [],
      now: () => host.options.now(),
    })
  }

  get id(): string {
    return this.session.sessionId
  }

  /** Runs a prompt, and sends what happens in it. Resolves with the reason of its end; rejects when it failed. */
  async prompt(request: SendRequest, signal: AbortSignal): Promise<StopReason> {
    const stopping = new AbortController()
    this.#prompts.add(stopping)
    const all = AbortSignal.any([stopping.signal, signal])
    try {
      let stop: StopReason = 'cancelled'
      const stream = await this.session.stream({ ...request, signal: all })
      for await (const event of stream) {
        await this.#show(event)
        stop = stopReasonOf(event) ?? stop
      }
      return stop
    } finally {
      this.#prompts.delete(stopping)
      for (const update of this.writer.endOpenCalls('failed')) await this.send(update)
      await this.#showTitle()
    }
  }

  /** Cancels every prompt that is active or waits. */
  cancel(): void {
    for (const stopping of this.#prompts) stopping.abort()
  }

  send(update: SessionUpdate): Promise<void> {
    return this.#host.client.update(this.id, update)
  }

  async #show(event: AgentEvent): Promise<void> {
    for (const update of this.writer.write(event)) await this.send(update)
  }

  async #showTitle(): Promise<void> {
    const { title } = this.session
    if (title === null || title === this.#title) return
    this.#title = title
    const updatedAt = new Date(this.#host.options.now()).toISOString()
    await this.send({ sessionUpdate: 'session_info_update', title, updatedAt })
  }
}

/** Why a prompt ends with this event; undefined for events that end nothing. Throws the error of a failed run. */
function stopReasonOf(event: AgentEvent): StopReason | undefined {
  switch (event.type) {
    case 'agent_cancelled':
      return 'cancelled'
    case 'agent_end':
      if (event.result.finish === 'length') return 'max_tokens'
      if (event.result.finish === 'content_filter') return 'refusal'
      return event.result.finish === 'stop_condition' ? 'max_turn_requests' : 'end_turn'
    case 'error':
      if (event.code === 'max_tool_rounds') return 'max_turn_requests'
      throw new CapstanError(event.code ?? 'run_failed', event.error)
    default:
      return undefined
  }
}
