import type { RunRow, SessionRecord } from '../store/records.js'
import { schemaVersion } from '../store/records.js'
import type { AppendOptions, SessionLog, SessionStore } from '../store/session-store.js'
import { isRecord, type JsonObject } from '../tool/json.js'
import type { PlacedRun } from './claimable.js'
import type { CounterTotals, RunMessage } from './run-queue.js'

/** The id of the log in which the queue of one process is stored, next to the sessions of its store. */
const queueLogId = 'capstan-run-queue'

/** A run as stored in the log. */
export type StoredRun = PlacedRun & { readonly messages: readonly RunMessage[] }

type RemovedRun = { readonly runId: string; readonly isRemoved: true }

/** The content of the log. */
export type QueueState = {
  readonly runs: Map<string, StoredRun>
  readonly counters: Map<string, CounterTotals>
  /** When each addition to a counter was made, by id, oldest first. */
  readonly additions: Map<string, number>
  takeovers: number
}

/** The log of a queue that is open for writing, with its content. */
export type OpenedQueue = { readonly log: QueueLog; readonly state: QueueState }

/** How many ids of counter additions are saved for a later process. */
const savedAdditions = 100

/** Writes the changes of a queue to a log of the session store. The lease of the log allows one process at a time. */
export class QueueLog {
  readonly #log: SessionLog
  readonly #now: () => number
  /** Settles when everything so far is written; never rejects. */
  #last: Promise<unknown> = Promise.resolve()

  private constructor(log: SessionLog, now: () => number) {
    this.#log = log
    this.#now = now
  }

  /** Opens the log and reads what an earlier process wrote. */
  static async open(store: SessionStore, now: () => number): Promise<OpenedQueue> {
    const opener = { holder: 'a queue of runs', now }
    const isThere = (await store.read(queueLogId)) !== undefined
    if (isThere) await store.rewrite?.(queueLogId, (records) => shortened(records, now), opener)
    const log = await store.open(queueLogId, opener)
    try {
      const records = (await store.read(queueLogId))?.records ?? []
      if (records.length === 0) await log.append([sessionRecord({}, now())])
      return { log: new QueueLog(log, now), state: stateOf(records) }
    } catch (error) {
      await log.close()
      throw error
    }
  }

  /** Resolves when the changes survive the process and a power failure. */
  write(runs: readonly StoredRun[]): Promise<void> {
    return this.#append(runs.map((run) => runRecord(run)))
  }

  /** Removes runs, so that a later process does not find them. */
  remove(runs: readonly StoredRun[]): Promise<void> {
    return this.#append(runs.map((run) => runRecord(run, { runId: run.runId, isRemoved: true })))
  }

  writeTotals(state: QueueState): Promise<void> {
    return this.#append([sessionRecord(totalsOf(state), this.#now())], { soon: true })
  }

  async close(): Promise<void> {
    await this.#last
    await this.#log.close()
  }

  /** Appends in the order of the calls. Without records it waits for earlier appends. */
  #append(records: readonly SessionRecord[], options?: AppendOptions): Promise<void> {
    const appended = this.#last.then(async () => {
      if (records.length > 0) await this.#log.append(records, options)
    })
    this.#last = appended.catch(() => undefined)
    return appended
  }
}

/** `queued` is what a later process reads: the run, or a mark that it was removed. */
function runRecord(run: StoredRun, queued: object = run): SessionRecord {
  const { runId, sessionId, submittedAtMs, updatedAtMs } = run
  const row: RunRow & { readonly queued: JsonObject } = {
    id: runId,
    sessionId,
    status: run.state === 'queued' ? 'queued' : 'interrupted',
    // The prompt is in `queued`.
    prompt: '',
    createdAtMs: submittedAtMs,
    updatedAtMs,
    // Plain data, which is serialized at once.
    queued: queued as JsonObject,
  }
  return { type: 'run', data: row }
}

function sessionRecord(options: JsonObject, now: number): SessionRecord {
  const data = {
    id: queueLogId,
    schemaVersion,
    createdAtMs: now,
    updatedAtMs: now,
    title: 'Queue of runs',
    options,
  }
  return { type: 'session', data }
}

function stateOf(records: readonly SessionRecord[]): QueueState {
  const state: QueueState = { runs: new Map(), counters: new Map(), additions: new Map(), takeovers: 0 }
  for (const record of records) {
    if (record.type === 'run') {
      const stored = storedRun(record.data)
      if (stored === undefined) continue
      if ('isRemoved' in stored) state.runs.delete(stored.runId)
      else state.runs.set(stored.runId, stored)
    } else if (record.type === 'session') takeTotals(state, record.data.options ?? {})
  }
  return state
}

function storedRun(row: RunRow): StoredRun | RemovedRun | undefined {
  const queued = 'queued' in row ? row.queued : undefined
  // Written by `runRecord`.
  return isRecord(queued) && typeof queued['runId'] === 'string'
    ? (queued as unknown as StoredRun | RemovedRun)
    : undefined
}

/** Only the last additions, because each record contains all of them. */
function totalsOf({ counters, takeovers, additions }: QueueState): JsonObject {
  const last = [...additions].slice(-savedAdditions)
  return { counters: Object.fromEntries(counters), takeovers, additions: Object.fromEntries(last) }
}

function takeTotals(state: QueueState, { counters, takeovers, additions }: JsonObject): void {
  for (const [id, atMs] of Object.entries(isRecord(additions) ? additions : {}))
    if (typeof atMs === 'number') state.additions.set(id, atMs)

  if (typeof takeovers === 'number') state.takeovers = takeovers
  for (const [name, totals] of Object.entries(isRecord(counters) ? counters : {})) {
    const { tokens, costUsd } = isRecord(totals) ? totals : {}
    if (typeof tokens === 'number' && typeof costUsd === 'number')
      state.counters.set(name, { tokens, costUsd })
  }
}

/** Returns the last row of each run. */
function shortened(records: readonly SessionRecord[], now: () => number): readonly SessionRecord[] {
  const state = stateOf(records)
  return [sessionRecord(totalsOf(state), now()), ...[...state.runs.values()].map((run) => runRecord(run))]
}
