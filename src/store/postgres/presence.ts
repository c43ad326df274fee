import { hostname } from 'node:os'
import { describeProcess } from '../holder-process.js'
import { insist, placeOf, type Statement } from './database.js'
import { type Client, type ConnectionOptions, openClient } from './driver.js'
import { fromDriver, isPassing } from './faults.js'

export type PresenceOptions = {
  readonly connection: ConnectionOptions
  readonly schema: string
  readonly maxWaitMs: number
  /** Information about this process for other processes, as JSON. */
  readonly details?: string | undefined
}

/**
 * The row of this process in `nodes`, and the connection that shows that it runs: it holds an advisory lock with the id
 * of the row, and updates the time every second. Other processes take over its sessions when the lock is free and the
 * time is old; see `leases.ts`.
 */
export class Presence {
  readonly #options: PresenceOptions
  #details: string
  /** Statements that failed and must be run again. */
  readonly #due: Statement[] = []
  #joining: Promise<number> | undefined
  #client: Client | undefined
  #id: number | undefined
  #isLocked = false
  #isBeating = false
  #timer: NodeJS.Timeout | undefined
  #beating: Promise<void> = Promise.resolve()
  #backSince: number | undefined
  #hasLeft = false

  constructor(options: PresenceOptions) {
    this.#options = options
    this.#details = options.details ?? noDetails
  }

  /** Returns the id of this process in `nodes`; joins with the first call. */
  join(): Promise<number> {
    if (this.#id !== undefined) return Promise.resolve(this.#id)
    this.#joining ??= this.#join().finally(() => {
      this.#joining = undefined
    })
    return this.#joining
  }

  /** The id of this process in `nodes`, when it has joined. */
  get id(): number | undefined {
    return this.#id
  }

  /**
   * Whether this process can decide that others have ended. It cannot soon after its own connection was lost: after a
   * crash of the server all processes are disconnected for a moment.
   */
  get canJudge(): boolean {
    return this.#backSince === undefined || performance.now() - this.#backSince > settleMs
  }

  /** Sets the information for other processes, in case the row must be inserted again. */
  describe(details: string): void {
    this.#details = details
  }

  /** Runs a failed statement again as soon as the database can be reached. */
  defer(statement: Statement): void {
    this.#due.push(statement)
  }

  /** Whether a statement must still be run again. */
  get hasDue(): boolean {
    return this.#due.length > 0
  }

  /** Removes the row, so that everything that this process still holds is released at once. */
  async leave(): Promise<void> {
    this.#hasLeft = true
    clearTimeout(this.#timer)
    await this.#beating
    // Otherwise its row and its connection would stay. The caller of `join` gets the error.
    await this.#joining?.catch(() => undefined)
    const [client, id] = [this.#client, this.#id]
    this.#client = undefined
    if (client === undefined) return
    const text = `delete from ${this.#options.schema}.nodes where id = $1`
    // The row of a process that has ended is ignored, and removed by others.
    await client.query({ text, values: [id] }).catch(() => undefined)
    await end(client)
  }

  async #join(): Promise<number> {
    const { connection, maxWaitMs } = this.#options
    const id = await insist(() => this.#connect(), {
      maxWaitMs,
      place: placeOf(connection.url),
      isClosed: () => this.#hasLeft,
    })
    this.#schedule(beatEveryMs)
    return id
  }

  #schedule(ms: number): void {
    if (this.#hasLeft) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#isBeating = true
      this.#beating = this.#beat()
        .catch(() => this.#lose())
        .then(() => {
          this.#isBeating = false
          this.#schedule(this.#client === undefined ? reconnectAfterMs : beatEveryMs)
        })
    }, ms).unref()
  }

  #lose(): void {
    const client = this.#client
    this.#client = undefined
    this.#isLocked = false
    this.#backSince = performance.now()
    if (client !== undefined) void end(client)
  }

  /** Reconnects at once when the connection ends, because the lock is free until then. */
  #watch(client: Client): void {
    this.#client = client
    client.once('end', () => {
      if (this.#client !== client) return
      this.#lose()
      if (!this.#isBeating) this.#schedule(0)
    })
  }

  async #beat(): Promise<void> {
    if (this.#client === undefined) await this.#connect()
    else await this.#renew(this.#client)
  }

  async #connect(): Promise<number> {
    const client = await openClient(this.#options.connection)
    try {
      const id = await this.#renew(client)
      this.#watch(client)
      return id
    } catch (thrown) {
      await end(client)
      throw thrown
    }
  }

  async #renew(client: Client): Promise<number> {
    const id = await fromDriver(this.#renewRow(client))
    await this.#runDue(client)
    return id
  }

  async #renewRow(client: Client): Promise<number> {
    const { schema } = this.#options
    const { rowCount } = await client.query({
      text: `update ${schema}.nodes set seen_at = clock_timestamp() where id = $1`,
      values: [this.#id ?? 0],
      ...shortTimeout,
    })
    if (rowCount === 0) await this.#enter(client)
    if (!this.#isLocked) {
      // The server may not have noticed yet that an earlier connection of this process has ended. Then the next
      // heartbeat takes the lock.
      const { rows } = await client.query<{ locked: boolean }>({
        text: `select pg_try_advisory_lock(${lockSpace(schema)}, $1) as locked`,
        values: [this.#id],
        ...shortTimeout,
      })
      this.#isLocked = rows[0]?.locked === true
    }
    return this.#id ?? 0
  }

  async #runDue(client: Client): Promise<void> {
    for (const next of [...this.#due]) {
      const { text, values = [] } = next
      try {
        await fromDriver(client.query({ text, values: [...values], ...shortTimeout }))
        this.#due.splice(this.#due.indexOf(next), 1)
      } catch (thrown) {
        // A statement that the server rejects stays in the list and does not delay others. The connection still shows
        // that this process runs.
        if (isPassing(thrown)) throw thrown
      }
    }
  }

  /**
   * Inserts the row. If another process has removed it, the sessions that are still held here are assigned to the new
   * row.
   */
  async #enter(client: Client): Promise<void> {
    const { schema, connection } = this.#options
    const { rows } = await client.query<{ id: number; locked: boolean }>({
      text: `with new as (
          insert into ${schema}.nodes (name, host, pid, process, details) values ($1, $2, $3, $4, $6) returning id
        ), old as (
          delete from ${schema}.nodes where seen_at < clock_timestamp() - interval '1 day'
        ), moved as (
          update ${schema}.heads set node = (select id from new) where node = $5
        )
        select id, pg_try_advisory_lock(${lockSpace(schema)}, id) as locked from new`,
      values: [
        ...[connection.applicationName, hostname(), process.pid, describeProcess(), this.#id ?? 0],
        this.#details,
      ],
      ...shortTimeout,
    })
    this.#id = rows[0]?.id
    this.#isLocked = rows[0]?.locked === true
  }
}

/** The first number of the advisory locks of nodes; the second is the id of the node. */
export function lockSpace(schema: string): string {
  return `hashtext('capstan node ${schema}')`
}

async function end(client: Client): Promise<void> {
  // It fails when the connection has already ended.
  await client.end().catch(() => undefined)
}

/** The details of a process that executes no runs. */
export const noDetails = '{}'

const beatEveryMs = 1_000
const reconnectAfterMs = 250
/** How long other processes have to reconnect after a crash of the server. */
export const settleMs = 5_000
const shortTimeout = { query_timeout: 5_000 }
