import type { Statement } from './database.js'
import { noDetails, Presence, type PresenceOptions } from './presence.js'

type Entry = { readonly presence: Presence; users: number; hasNode: boolean }

const entries = new Map<string, Entry>()

/**
 * The use of this process's presence by one store, or by one node of a queue. All uses with the same address and schema
 * share one row, one connection and one heartbeat. A second node in the same process has its own, so that its claims
 * are taken over when it leaves.
 */
export class PresenceUse {
  readonly #options: PresenceOptions
  readonly #isNode: boolean
  #entry: Entry | undefined

  constructor(options: PresenceOptions) {
    this.#options = options
    this.#isNode = options.details !== undefined
  }

  /** Returns the id of this process in `nodes`; joins with the first call. */
  join(): Promise<number> {
    this.#entry ??= this.#acquire()
    return this.#entry.presence.join()
  }

  get id(): number | undefined {
    return this.#entry?.presence.id
  }

  /** See {@link Presence.canJudge}. */
  get canJudge(): boolean {
    return this.#entry?.presence.canJudge ?? true
  }

  /** Runs a failed statement again as soon as the database can be reached; has no effect after the last use. */
  defer(statement: Statement): void {
    this.#entry?.presence.defer(statement)
  }

  /** Ends this use. The last one removes the row, which releases everything that this process still holds. */
  async leave(): Promise<void> {
    const entry = this.#entry
    this.#entry = undefined
    if (entry === undefined) return
    if (this.#isNode) entry.presence.describe(noDetails)
    // What a node could not release is still registered under its id, so no other node may use that id.
    if (this.#isNode && !entry.presence.hasDue) entry.hasNode = false
    if (--entry.users > 0) return
    const key = keyOf(this.#options)
    if (entries.get(key) === entry) entries.delete(key)
    await entry.presence.leave()
  }

  #acquire(): Entry {
    const key = keyOf(this.#options)
    const shared = entries.get(key)
    if (shared === undefined || (shared.hasNode && this.#isNode)) {
      const entry = { presence: new Presence(this.#options), users: 1, hasNode: this.#isNode }
      if (shared === undefined) entries.set(key, entry)
      return entry
    }
    shared.users += 1
    shared.hasNode ||= this.#isNode
    if (this.#options.details !== undefined) shared.presence.describe(this.#options.details)
    return shared
  }
}

function keyOf({ connection, schema }: PresenceOptions): string {
  return JSON.stringify([connection.url, schema])
}
