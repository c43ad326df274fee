import { type AgentEvent, isTerminal } from '../loop/events.js'
import type { Usage } from '../loop/usage.js'
import type { RunRow } from '../store/records.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { type RunsOfLog, restoredEvents } from './journal/restored-events.js'
import type { RetentionLimits } from './options.js'
import { type RunEvent, RunEvents } from './run-events.js'
import { usageFrom } from './spending.js'

/** The status of a run. `interrupted`: its process ended before it did. */
export type RunStatus = 'queued' | 'running' | 'completed' | 'failed' | 'cancelled' | 'interrupted'

/** The state of a run at one moment. */
export type RunSnapshot = {
  readonly id: string
  readonly sessionId: string
  readonly status: RunStatus
  readonly prompt: string
  readonly createdAtMs: number
  readonly updatedAtMs: number
  readonly eventCount: number
  readonly resultText?: string
  readonly error?: string
  /** The run that this one resumed. */
  readonly resumedFrom?: string
  /** The usage while it was active, once it has ended. */
  readonly usage?: Usage
  /** US dollars; absent when no price is known. */
  readonly costUsd?: number
}

/** One run: its outcome and its events. */
export class RunRecord {
  readonly id: string
  readonly prompt: string
  readonly events: RunEvents
  readonly #sessionId: string
  readonly #resumedFrom: string | undefined
  readonly #createdAt: number
  #updatedAt: number
  #status: RunStatus = 'queued'
  #resultText: string | undefined
  #error: string | undefined
  #spent: Pick<RunSnapshot, 'usage' | 'costUsd'> = {}

  constructor(
    id: string,
    sessionId: string,
    prompt: string,
    now: number,
    maxEvents: number,
    resumedFrom?: string,
  ) {
    this.id = id
    this.prompt = prompt
    this.#sessionId = sessionId
    this.#resumedFrom = resumedFrom
    this.#createdAt = now
    this.#updatedAt = now
    this.events = new RunEvents(maxEvents)
  }

  /** Restores a run of an earlier process. If it was active then, it ended with that process. */
  static restored(row: RunRow, state: RunsOfLog, maxEvents: number): RunRecord {
    const { id, sessionId, status, prompt, createdAtMs, updatedAtMs, resultText, error, usage, costUsd } = row
    const run = new RunRecord(id, sessionId, prompt, createdAtMs, maxEvents, row.resumedFrom)
    const rows = state.events.get(id) ?? []
    run.events.restore({ first: rows[0]?.sequence, last: rows.at(-1)?.sequence }, () =>
      restoredEvents(state, row),
    )
    run.#updatedAt = updatedAtMs
    run.#status = status === 'queued' || status === 'running' ? 'interrupted' : status
    run.#resultText = resultText
    run.#error = error
    run.#spent = {
      ...(usage !== undefined && { usage: usageFrom(usage) }),
      ...(typeof costUsd === 'number' && { costUsd }),
    }
    return run
  }

  get status(): RunStatus {
    return this.#status
  }

  get ended(): boolean {
    return this.#status !== 'queued' && this.#status !== 'running'
  }

  start(now: number): void {
    if (this.#status === 'queued') this.#status = 'running'
    this.#updatedAt = now
  }

  /** Adds an event. The end is final: later events are not recorded. */
  add(event: AgentEvent, now: number): void {
    if (this.ended) return
    this.#updatedAt = now
    this.events.add(event, now)
    if (!isTerminal(event)) return
    this.#spent = spentIn(event)
    if (event.type === 'agent_end') {
      this.#status = 'completed'
      this.#resultText = event.result.text
    } else if (event.type === 'agent_cancelled') {
      this.#status = 'cancelled'
      this.#error = event.reason
    } else if (event.type === 'error') {
      this.#status = 'failed'
      this.#error = event.error
    }
  }

  /** Completes a run that had its final answer when its process ended without recording the end. */
  complete(resultText: string, now: number): void {
    this.#updatedAt = now
    this.#status = 'completed'
    this.#resultText = resultText
  }

  snapshot(): RunSnapshot {
    return {
      id: this.id,
      sessionId: this.#sessionId,
      status: this.#status,
      prompt: this.prompt,
      createdAtMs: this.#createdAt,
      updatedAtMs: this.#updatedAt,
      eventCount: this.events.count,
      ...omitUndefined({ resultText: this.#resultText, error: this.#error, resumedFrom: this.#resumedFrom }),
      ...this.#spent,
    }
  }
}

function spentIn(event: AgentEvent): Pick<RunSnapshot, 'usage' | 'costUsd'> {
  const from = event.type === 'agent_end' ? event.result : event
  if (!('usage' in from) || from.usage === undefined) return {}
  const costUsd = 'costUsd' in from ? from.costUsd : undefined
  return { usage: from.usage, ...omitUndefined({ costUsd }) }
}

/** The runs of a session. Beyond the limit the oldest that have ended are removed. */
export class Runs {
  readonly #maxRuns: number
  readonly #maxEvents: number
  readonly #runs = new Map<string, RunRecord>()

  /** `restored` has the runs of earlier processes. */
  constructor(limits: RetentionLimits = {}, restored?: RunsOfLog) {
    this.#maxRuns = limits.maxRuns ?? Number.POSITIVE_INFINITY
    this.#maxEvents = limits.maxEventsPerRun ?? Number.POSITIVE_INFINITY
    if (restored === undefined) return
    for (const row of restored.runs.values())
      this.#runs.set(row.id, RunRecord.restored(row, restored, this.#maxEvents))
    this.#forgetOldest()
  }

  create(id: string, sessionId: string, prompt: string, now: number, resumedFrom?: string): RunRecord {
    const run = new RunRecord(id, sessionId, prompt, now, this.#maxEvents, resumedFrom)
    this.#runs.set(id, run)
    this.#forgetOldest()
    return run
  }

  get(id: string): RunRecord | undefined {
    return this.#runs.get(id)
  }

  list(): RunSnapshot[] {
    return [...this.#runs.values()].map((run) => run.snapshot())
  }

  events(id: string): RunEvent[] {
    return this.#runs.get(id)?.events.list() ?? []
  }

  /** Stores the events of ended runs in a smaller form. */
  rest(): void {
    for (const { events } of this.#runs.values()) events.rest()
  }

  #forgetOldest(): void {
    for (const [id, run] of this.#runs) {
      if (this.#runs.size <= this.#maxRuns) break
      if (run.ended) this.#runs.delete(id)
    }
  }
}
