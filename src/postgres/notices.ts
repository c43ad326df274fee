import type { WakeReason } from '../run-queue/run-queue.js'
import { RunWatchers } from '../run-queue/run-watchers.js'
import type { Database, Run } from '../store/postgres/database.js'
import type { ConnectionOptions } from '../store/postgres/driver.js'
import { decodeText } from '../store/postgres/text.js'
import { isRecord } from '../tool/json.js'
import { Listener } from './listener.js'

/** A node of this process that notifications wake. */
export type Woken = { readonly node: number; wake(reason: WakeReason): void }

export type NoticesOptions = {
  readonly database: Database
  /** A connection without a pooler, so that it can listen. */
  readonly direct: ConnectionOptions
  readonly channel: string
}

/**
 * Notifications between the processes of a queue. They can be lost, so nodes and readers also poll. Every role of the
 * database can send one, so a notification only triggers a read of the tables; its content is never used as data.
 */
export class Notices {
  readonly nodes = new Set<Woken>()
  readonly #options: NoticesOptions
  readonly #listener: Listener
  readonly #watchers = new RunWatchers()
  readonly #changed = new Set<string>()
  #notifying: NodeJS.Timeout | undefined

  constructor(options: NoticesOptions) {
    this.#options = options
    this.#listener = new Listener({
      connection: options.direct,
      channel: options.channel,
      onMessage: (payload) => this.#receive(payload),
      onMissed: () => this.#receive('all'),
    })
  }

  /** Starts listening. */
  start(): Promise<void> {
    return this.#listener.start()
  }

  async close(): Promise<void> {
    clearTimeout(this.#notifying)
    await this.#listener.close()
  }

  /** Calls `onChange` when a run has new events or another state. */
  watch(runId: string, onChange: () => void): () => void {
    void this.start()
    return this.#watchers.add(runId, onChange)
  }

  /** Wakes all nodes, or one, once the transaction is committed. */
  async wake(run: Run, reason: WakeReason, node?: number | null): Promise<void> {
    const notice: Notice = { node: node ?? undefined, reason }
    await run({ text: 'select pg_notify($1, $2)', values: [this.#options.channel, JSON.stringify(notice)] })
  }

  /** Announces that a run has new events or another state: at most once every 10 ms for all runs together. */
  markChanged(runId: string): void {
    this.#changed.add(runId)
    this.#notifying ??= setTimeout(() => this.#announce(), notifyAfterMs).unref()
  }

  #announce(): void {
    this.#notifying = undefined
    const { database, channel } = this.#options
    const payload = JSON.stringify({ runs: [...this.#changed] })
    this.#changed.clear()
    const short = Buffer.byteLength(payload) < maxPayload ? payload : 'all'
    database.query({ text: 'select pg_notify($1, $2)', values: [channel, short] }, 0).catch(() => {
      // Readers also poll.
    })
  }

  #receive(payload: string): void {
    const { runs, node, reason } = noticeIn(payload) ?? {}
    if (payload === 'all') {
      this.#watchers.notify()
      for (const one of this.nodes) for (const each of wakeReasons) one.wake(each)
    }
    for (const runId of runs ?? []) this.#watchers.notify(decodeText(runId))
    if (reason !== undefined)
      for (const one of this.nodes) if (node === undefined || node === one.node) one.wake(reason)
  }
}

/** Parses a notification; undefined if no process of the queue sent it. */
function noticeIn(payload: string): Notice | undefined {
  try {
    const notice: unknown = JSON.parse(payload)
    if (!isRecord(notice)) return undefined
    const { runs, node, reason } = notice
    return {
      runs: Array.isArray(runs) ? runs.filter((runId) => typeof runId === 'string') : [],
      node: typeof node === 'number' ? node : undefined,
      reason: wakeReasons.find((known) => known === reason),
    }
  } catch {
    return undefined
  }
}

type Notice = {
  readonly runs?: readonly string[]
  readonly node?: number | undefined
  readonly reason?: WakeReason | undefined
}

const wakeReasons: readonly WakeReason[] = ['work', 'messages', 'cancel', 'drain']
const notifyAfterMs = 10
/** Postgres accepts fewer than 8,000 bytes. */
const maxPayload = 7_900
