import { pause } from '../loop/on-abort.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { visibleLine } from '../toolbox/untrusted-text.js'
import { withTimeout } from '../workspace/shell/with-timeout.js'
import { Connection, type Linked } from './connection.js'
import { type Decision, readDecision } from './decision.js'
import { SupervisionError } from './errors.js'
import type { Supervised } from './handshake.js'
import { Outbox } from './outbox.js'
import type { AhpEvent, BlockingEvent, NoticeEvent } from './protocol.js'
import { asSupervisionError } from './stream-peer.js'
import { type AhpSettings, type AhpTransport, secretsOf, settingsOf } from './transport.js'

/** The result of asking the supervisor. */
export type Outcome =
  | { readonly action: 'allow' }
  /** `decided`: the supervisor blocked it; otherwise an error did. */
  | { readonly action: 'block'; readonly reason: string; readonly decided?: true }
  | { readonly action: 'modify'; readonly value: unknown }
  /** A user must decide. */
  | { readonly action: 'ask'; readonly reason: string }

export type SupervisorParts = {
  readonly transport: AhpTransport
  readonly who: Supervised
  /** Reports a warning about the supervision to the host. */
  notice(message: string): void
}

/** The state of the supervision of a session. A supervisor that was never asked has not checked anything yet. */
export type SupervisorStatus = {
  readonly kind: AhpTransport['kind']
  readonly connected: boolean
  /** The name that the supervisor reported. */
  readonly name?: string
  readonly asked: number
  readonly blocked: number
  readonly modified: number
  readonly escalated: number
  /** The number of calls that were allowed without it because of `onDisconnect`. */
  readonly unsupervised: number
  /** The number of events that it did not receive, because it was disconnected for too long. */
  readonly undelivered: number
  readonly lastError?: string
}

/** The supervisor of a session and its subagents. Every error denies: supervision can only restrict. */
export class Supervisor {
  readonly #parts: SupervisorParts
  readonly #settings: AhpSettings
  readonly #connection: Connection
  readonly #outbox = new Outbox()
  readonly #counts = { asked: 0, blocked: 0, modified: 0, escalated: 0, unsupervised: 0 }
  readonly #secrets: readonly string[]
  readonly #sending = new Set<Promise<void>>()
  #pumping: Promise<void> | undefined
  #lastError: string | undefined
  #lastReported: string | undefined

  constructor(parts: SupervisorParts) {
    this.#parts = parts
    this.#settings = settingsOf(parts.transport)
    this.#secrets = secretsOf(parts.transport)
    this.#connection = new Connection(parts.transport, parts.who)
  }

  /** Asks about an event, repeatedly while the decision is deferred. Never rejects. */
  async ask(event: AhpEvent<BlockingEvent>, signal?: AbortSignal): Promise<Outcome> {
    const outcome = await this.#judge(event, signal)
    if (outcome.action === 'block') this.#counts.blocked += 1
    if (outcome.action === 'modify') this.#counts.modified += 1
    if (outcome.action === 'ask') this.#counts.escalated += 1
    return outcome
  }

  /** Queues an event to be sent; the caller does not wait. */
  tell(event: AhpEvent<NoticeEvent>): void {
    this.#outbox.add(event)
    this.#pump()
  }

  status(): SupervisorStatus {
    const name = this.#connection.agreed?.name
    return {
      kind: this.#parts.transport.kind,
      connected: this.#connection.isUp,
      ...(name !== undefined && { name: this.#clean(name, 80) }),
      ...this.#counts,
      undelivered: this.#outbox.dropped,
      ...omitUndefined({ lastError: this.#lastError }),
    }
  }

  /** Sends the remaining events, within a short time limit, and disconnects. */
  async close(): Promise<void> {
    this.#pump()
    await withTimeout(this.#allSent(), farewellMs)
    await this.#connection.close()
  }

  async #judge(event: AhpEvent<BlockingEvent>, signal: AbortSignal | undefined): Promise<Outcome> {
    let linked: Linked
    try {
      linked = await this.#connection.link()
      this.#tellState(undefined)
    } catch (error) {
      return this.#unreached(asSupervisionError(error))
    }
    const { asks, maxDepth } = linked.agreed
    if (!asks.has(event.event_type)) return { action: 'allow' }
    if (event.depth > maxDepth)
      return {
        action: 'block',
        reason: `Agents deeper than ${maxDepth} levels are not supervised, and are denied everything`,
      }
    this.#counts.asked += 1
    // Earlier events are sent first.
    this.#sendWaiting(linked)
    try {
      return await this.#askUntilDecided(linked, event, signal)
    } catch (error) {
      const problem = asSupervisionError(error)
      // The connection was lost before the question was sent.
      return problem.code === 'supervision_unavailable' ? this.#unreached(problem) : this.#failed(problem)
    }
  }

  async #askUntilDecided(
    { peer, agreed }: Linked,
    event: AhpEvent<BlockingEvent>,
    signal: AbortSignal | undefined,
  ): Promise<Outcome> {
    const { maxDeferMs } = this.#settings
    const start = performance.now()
    for (;;) {
      const ask = { timeoutMs: agreed.timeoutMs, signal }
      const answer = await peer.request('ahp/event', event, ask)
      this.#connection.answered()
      const decision = readDecision(event.event_type, answer, event.payload)
      if (decision.action !== 'defer') return this.#outcomeOf(decision)
      const leftMs = maxDeferMs - (performance.now() - start)
      if (decision.afterMs > leftMs)
        return {
          action: 'ask',
          reason: `the supervisor deferred its decision for longer than ${maxDeferMs} ms: ${this.#clean(decision.reason)}`,
        }
      // After an abort, the next request is rejected.
      await pause(decision.afterMs, signal)
    }
  }

  #outcomeOf(decision: Exclude<Decision, { action: 'defer' }>): Outcome {
    switch (decision.action) {
      case 'block':
        return { action: 'block', reason: this.#clean(decision.reason), decided: true }
      case 'escalate':
        return {
          action: 'ask',
          reason: `the supervisor requires that a user decides: ${this.#clean(decision.reason)}`,
        }
      case 'malformed':
        throw new SupervisionError('supervision_protocol', decision.problem)
      default:
        return decision
    }
  }

  /** The supervisor is not connected, so the question was not sent. Only then can work continue without it. */
  #unreached(error: SupervisionError): Outcome {
    const why = this.#note(error)
    this.#tellState(why)
    if (error.code !== 'supervision_unavailable' || this.#settings.onDisconnect === 'deny')
      return { action: 'block', reason: `the supervisor cannot be asked, so this is denied: ${why}` }
    this.#counts.unsupervised += 1
    return { action: 'allow' }
  }

  /** The question was sent, and no valid decision came back. */
  #failed(error: SupervisionError): Outcome {
    if (error.code === 'supervision_aborted') return { action: 'block', reason: 'the run was aborted' }
    return {
      action: 'block',
      reason: `the supervisor gave no decision, so this is denied: ${this.#note(error)}`,
    }
  }

  /** Reports each loss of the connection once, and once when it is restored. */
  #tellState(problem: string | undefined): void {
    const before = this.#lastReported
    this.#lastReported = problem === undefined ? undefined : 'away'
    if (problem !== undefined && before === undefined) {
      const then =
        this.#settings.onDisconnect === 'continue'
          ? 'Work continues without it'
          : 'Everything is denied until it is connected again'
      this.#parts.notice(`The supervisor cannot be asked: ${problem}. ${then}.`)
    } else if (problem === undefined && before !== undefined)
      this.#parts.notice('The supervisor is connected again.')
  }

  #pump(): void {
    this.#pumping ??= this.#sendAll().finally(() => {
      this.#pumping = undefined
    })
  }

  async #sendAll(): Promise<void> {
    // The synchronous part below must not delay the caller, which does not wait.
    await Promise.resolve()
    while (this.#outbox.size > 0) {
      let linked: Linked
      try {
        linked = await this.#connection.link()
      } catch (error) {
        // The events stay queued until the supervisor is reachable again.
        this.#note(asSupervisionError(error))
        return
      }
      await this.#sendSome(linked)
    }
  }

  #sendWaiting(linked: Linked): void {
    while (this.#outbox.size > 0) {
      const sending = this.#sendSome(linked).finally(() => this.#sending.delete(sending))
      this.#sending.add(sending)
    }
  }

  async #allSent(): Promise<void> {
    await this.#pumping
    await Promise.all(this.#sending)
  }

  async #sendSome({ peer, agreed }: Linked): Promise<void> {
    const events = this.#outbox.take(agreed.takesBatches ? agreed.batchSize : 1)
    const [only] = events
    // A question that was asked while the connection was opened has sent all events.
    if (only === undefined) return
    try {
      if (events.length === 1) await peer.notify('ahp/event', only)
      else await peer.request('ahp/batch', { events }, { timeoutMs: agreed.timeoutMs })
    } catch (error) {
      // Not sent again: the supervisor may have received some of them.
      this.#outbox.dropped += events.length
      this.#note(asSupervisionError(error))
    }
  }

  #note({ message }: SupervisionError): string {
    this.#lastError = this.#clean(message)
    return this.#lastError
  }

  /**
   * Converts external text to one line without secrets and without final punctuation, so that a sentence can continue
   * after it.
   */
  #clean(text: string, most = 400): string {
    const clean = this.#secrets.reduce(
      (left, secret) => left.replaceAll(secret, '[hidden]'),
      text.slice(0, 8_000),
    )
    return visibleLine(clean, most).replace(/[.?!\s]+$/, '')
  }
}

/** How long closing a session waits for its last events to be sent. */
const farewellMs = 2_000
