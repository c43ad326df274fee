import { RunError } from '../loop/errors.js'
import type { AgentEvent } from '../loop/events.js'
import { isTerminal } from '../loop/events.js'
import { onAbort } from '../loop/on-abort.js'
import type { RunTotals } from '../loop/run-parts.js'
import { addUsage, type Usage } from '../loop/usage.js'
import type { UserMessage } from '../tool/completion.js'
import type { JsonObject } from '../tool/json.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import type { AgentResult } from './agent-result.js'
import { EventStream } from './event-stream.js'
import type { RunRecord } from './runs.js'
import { Ledger, sum } from './spending.js'

/** A run from its request to its end. */
export class ActiveRun {
  readonly record: RunRecord
  readonly stream: EventStream
  /** The usage of all model requests while the run is active. */
  readonly spending = new Ledger()
  /** The models whose circuit breakers have opened since the run began, as `provider/model`. */
  readonly circuitsOpened = new Set<string>()
  /** The usage of the run that this one resumes. */
  #before: Pick<RunTotals, 'usage' | 'costUsd'> | undefined
  readonly #controller = new AbortController()
  /** Whether the model will still read messages that are sent during the run. */
  steerable = false
  /** Messages of the user that the model has not read yet. */
  readonly steering: UserMessage[] = []
  /** The value of `run.metadata` for approval policies and tools. */
  metadata: JsonObject | undefined
  readonly #pass: (event: AgentEvent) => void
  readonly #now: () => number
  /** Writes an event to the log. */
  readonly #keep: ((event: AgentEvent, now: number, sequence: number) => void) | undefined
  /** Settles when the run has ended. A rejection without a listener is still reported by the stream and the record. */
  result: Promise<AgentResult> = notStarted

  constructor(
    record: RunRecord,
    now: () => number,
    redact: (pass: (event: AgentEvent) => void) => (event: AgentEvent) => void,
    keep?: (event: AgentEvent, now: number, sequence: number) => void,
  ) {
    this.record = record
    this.#now = now
    this.stream = new EventStream(() => this.cancel('its reader left'))
    this.#keep = keep
    this.#pass = redact((event) => this.#tell(event))
  }

  /** Adds the totals of an interrupted run to those of this one. */
  countFrom(totals: Pick<RunTotals, 'usage' | 'costUsd'>): void {
    this.#before = totals
  }

  /** The totals for the result: what was spent while it was active, and before it was resumed. */
  get spent(): { readonly usage: Usage; readonly costUsd?: number } {
    const { usage, costUsd: own } = this.spending
    const costUsd = sum(this.#before?.costUsd, own)
    return {
      usage: this.#before === undefined ? usage : addUsage(this.#before.usage, usage),
      ...omitUndefined({ costUsd }),
    }
  }

  get id(): string {
    return this.record.id
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  get ended(): boolean {
    return this.record.ended
  }

  emit(event: AgentEvent): void {
    try {
      this.#pass(event)
    } catch (error) {
      // The redactor failed, so the run fails. Its end is still emitted, without texts that were not redacted.
      if (event.type !== 'error' && event.type !== 'agent_cancelled') throw error
      this.#tell(withoutWords(event))
    }
    if (isTerminal(event)) this.stream.end()
  }

  #tell(event: AgentEvent): void {
    const now = this.#now()
    if (event.type === 'model_circuit_opened') this.circuitsOpened.add(event.model)
    if (!this.ended) this.#keep?.(event, now, this.record.events.count + 1)
    this.record.add(event, now)
    this.stream.push(event)
  }

  /** Returns false when the run had already ended. */
  cancel(why: string): boolean {
    if (this.ended || this.signal.aborted) return false
    this.#controller.abort(new RunError('cancelled', `The run was cancelled: ${why}.`))
    return true
  }

  /** Cancels the run when another signal is aborted. Returns a function that removes the listener. */
  follow(signal: AbortSignal | undefined): () => void {
    if (signal === undefined) return () => undefined
    const stop = (): void => {
      this.#controller.abort(
        new RunError('cancelled', 'The run was cancelled by its signal.', { cause: signal.reason }),
      )
    }
    return onAbort(signal, stop)
  }
}

const notStarted = Promise.reject<AgentResult>(new Error('the run was not started'))
// One promise for all runs that were not started; nothing awaits it.
notStarted.catch(() => undefined)

function withoutWords(event: Extract<AgentEvent, { type: 'error' | 'agent_cancelled' }>): AgentEvent {
  const words = 'The reason is withheld: the security provider failed on it.'
  return event.type === 'error' ? { ...event, error: words } : { ...event, reason: words }
}
