import { isFineAsJson, redactValue } from '../../feature/redact-value.js'
import { damagedLog, SessionLockedError, StoreError } from '../../store/errors.js'
import type { SessionRecord } from '../../store/records.js'
import type { Durability, SessionLog, SessionStore } from '../../store/session-store.js'
import { Turns } from '../../store/turns.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import { SessionClosedError } from '../errors.js'

export type JournalOptions = {
  readonly store: SessionStore
  readonly sessionId: string
  /** Who writes, for another process that would like to. */
  readonly holder: string
  readonly durability?: Durability
  /** Takes out of every text what must not be written down. */
  readonly redact?: (text: string) => string
  /** Whether `redact` would change no text inside a JSON text. False: it may. */
  readonly isClean?: (json: string) => boolean
  /** How many records of the session are known here, and whether nothing was wrong with them. */
  readonly known: { readonly records: number; readonly whole: boolean }
  /** What comes first when the log is opened, knowing whether it was damaged. */
  first(damage: string | undefined): readonly SessionRecord[]
  now(): number
}

/** Records, or those that are still being made: their large content is saved next to the log first. */
type Handed = readonly SessionRecord[] | Promise<readonly SessionRecord[]>

/** How long records without a waiting caller can be delayed. */
const soonMs = 20

/** Begins the writes of such records: one for all sessions of a store. */
const writesOf = new WeakMap<SessionStore, Turns>()

/**
 * The log of one session, opened with the first record. Records are in it in the order they were handed over. After a
 * failed write every caller that waits gets the error: a session that cannot record must not continue.
 */
export class Journal {
  readonly #options: JournalOptions
  readonly #writes: Turns
  #log: Promise<SessionLog> | undefined
  /** What was handed over and is not being written yet, and the write that will take all of it. */
  #waiting: Handed[] = []
  #next: Promise<void> | undefined
  /** Whether a caller waits until the disk has it. */
  #awaited = false
  #last: Promise<void> = Promise.resolve()
  #closed = false
  #sealed = false
  /** Everything that was handed over is written and the lease is released: it must not be taken again. */
  #isReleased = false
  /** The first write that failed: nothing may follow it. */
  #failure: { readonly error: unknown } | undefined
  /**
   * Settles, without ever failing, when the store was asked to make the session; undefined for one that was there
   * before.
   */
  #creation: Promise<void> | undefined
  /** Whether the log has what comes first. */
  #introduced = false
  /** Whether the store has the session, made here or by another process. */
  #isThere = false
  #known: JournalOptions['known']
  /** Whether this process keeps the lease until the session is closed, because it writes. */
  #taken = false
  /** Settles when the lease that was taken only to save is released. */
  #released: Promise<void> = Promise.resolve()

  constructor(options: JournalOptions) {
    this.#options = options
    this.#known = options.known
    this.#writes = writesOf.get(options.store) ?? new Turns(soonMs, { keepsAlive: true })
    writesOf.set(options.store, this.#writes)
  }

  /**
   * Makes the session in the store before anything is said in it. One that cannot be made now is made with its first
   * record.
   */
  create(): void {
    this.#creation = this.#create().catch(() => undefined)
  }

  async #create(): Promise<void> {
    const { store, sessionId, holder, first, now } = this.#options
    if (store.create === undefined) return
    const records = this.#clean(first(undefined))
    const isMade = await store.create(sessionId, records, { holder, now })
    this.#isThere = true
    if (!isMade) return
    this.#introduced = true
    this.#known = { records: records.length, whole: true }
  }

  /**
   * Resolves when these, and all before them, are as safe as the durability says. What is handed over while the disk is
   * busy is one write, whole or not at all.
   */
  append(records: Handed): Promise<void> {
    return this.#takes(records) ? this.#write() : Promise.resolve()
  }

  /**
   * Resolves when these, and all before them, outlive the process. The disk has them soon, and before anything that is
   * appended after them is said to be safe: a caller that does nothing irreversible need not wait for it.
   */
  put(records: Handed): Promise<void> {
    return this.#takes(records) ? this.#write(false) : Promise.resolve()
  }

  /**
   * Like `append`, for records without a waiting caller: they go with the next write that has one, or soon alone.
   * One write each would be a wait for the disk each, which the records after them would wait for too.
   */
  note(records: Handed): void {
    if (this.#takes(records) && this.#next === undefined) this.#writes.add(this)
  }

  /** Writes what was noted. */
  takeTurn(): void {
    void this.#writeRest()
  }

  #takes(records: Handed): boolean {
    // Reported by the write that takes them; when none does, no caller needs to know.
    if (records instanceof Promise) records.catch(() => undefined)
    if (this.#closed || this.#sealed) return false
    this.#waiting.push(records)
    return true
  }

  /**
   * Takes the session for writing. Nothing has happened when it cannot be had; one that has failed is not had again.
   */
  async open(): Promise<void> {
    this.#refuseWhenFailed()
    this.#taken = true
    await this.#open()
  }

  async writeBlob(bytes: Uint8Array): Promise<string> {
    this.#taken = true
    const log = await this.#open()
    return log.writeBlob(bytes)
  }

  /** Everything handed over so far is on disk; a session in which nothing was said yet, too. */
  async flush(): Promise<void> {
    await this.#writeRest()
    this.#refuseWhenFailed()
    if (this.#log === undefined && this.#creation !== undefined && !this.#closed) return this.#flushCreated()
    const log = await this.#log
    try {
      await log?.flush()
    } catch (error) {
      throw this.#failed(error)
    }
  }

  /** Takes the lease only for this call: the first process that sends a prompt takes it until it closes the session. */
  async #flushCreated(): Promise<void> {
    const log = await this.#open().catch((error: unknown) => {
      // Another process has said something in it since: what was written here is there, and it has nothing of ours to
      // wait for.
      if (this.#isThere && isElsewhere(error)) return undefined
      throw error
    })
    if (log === undefined) return
    await log.flush()
    if (this.#taken || this.#log === undefined) return
    this.#log = undefined
    this.#released = log.close()
    await this.#released
  }

  /** Whether this process has the lease of the session, or acquires it now. */
  get isHeld(): boolean {
    return this.#log !== undefined
  }

  /** Whether the store has records that were not read here. The holder of the lease has read all. */
  async isStale(): Promise<boolean> {
    await this.#creation
    if (this.isHeld || this.#closed) return false
    const { store, sessionId } = this.#options
    // Of a damaged log, only reading finds out how many records there are.
    const count = this.#known.whole ? await store.countRecords?.(sessionId) : undefined
    const there = count ?? (await store.read(sessionId))?.records.length ?? 0
    return !this.isHeld && there !== this.#known.records
  }

  /** What is appended from now on is not written; the lease is still held until it is released. */
  seal(): void {
    void this.#writeRest()
    this.#sealed = true
  }

  /** Whether nothing more is written: a caller that must not continue without a record has to stop. */
  get isSealed(): boolean {
    return this.#sealed
  }

  /** Gives the session back. Nothing is written afterwards. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#creation
    await this.#writeRest()
    this.#isReleased = true
    const log = await this.#log?.catch(() => undefined)
    await log?.close()
  }

  /** Writes records without a waiting caller. Never rejects: the next caller gets the error. */
  #writeRest(): Promise<void> {
    if (this.#waiting.length > 0) void this.#write(false)
    return this.#last
  }

  #write(awaited = true): Promise<void> {
    this.#awaited ||= awaited
    this.#next ??= this.#last.then(() => this.#writeWaiting())
    const next = this.#next
    // A waiting caller gets the error; for records without one, the next caller does.
    this.#last = next.catch(() => undefined)
    return next
  }

  async #writeWaiting(): Promise<void> {
    const waiting = this.#waiting
    this.#waiting = []
    this.#writes.remove(this)
    this.#next = undefined
    const soon = !this.#awaited
    this.#awaited = false
    this.#refuseWhenFailed()
    const records: SessionRecord[] = []
    try {
      // Content that could not be saved next to the log is a hole in it, like a record that could not be written.
      for (const made of waiting)
        for (const record of made instanceof Promise ? await made : made) records.push(record)
    } catch (error) {
      throw this.#failed(error)
    }
    if (records.length === 0) return
    this.#taken = true
    const log = await this.#open()
    try {
      await log.append(this.#clean(records), { soon })
    } catch (error) {
      throw this.#failed(error)
    }
  }

  #failed(error: unknown): unknown {
    this.#failure ??= { error }
    return error
  }

  #refuseWhenFailed(): void {
    if (this.#failure !== undefined) throw this.#failure.error
  }

  async #open(): Promise<SessionLog> {
    if (this.#isReleased) throw new SessionClosedError(this.#options.sessionId)
    this.#log ??= this.#start().catch((error: unknown) => {
      // Another process may have released it by the next time.
      this.#log = undefined
      throw error
    })
    return this.#log
  }

  async #start(): Promise<SessionLog> {
    const { store, sessionId, holder, durability, now } = this.#options
    await this.#creation
    await this.#released.catch(() => undefined)
    const log = await store.open(sessionId, { holder, now, ...omitUndefined({ durability }) })
    try {
      const there = await this.#refuseStale(log)
      const first = this.#introduced && log.damage === undefined ? [] : this.#options.first(log.damage)
      if (first.length > 0) await log.append(this.#clean(first), { soon: true })
      this.#introduced = true
      this.#known = { records: there + first.length, whole: true }
      return log
    } catch (error) {
      await log.close()
      throw error
    }
  }

  /**
   * Between reading and taking a session another process may have written to it. Returns how many records there are.
   */
  async #refuseStale({ recordCount }: SessionLog): Promise<number> {
    const { store, sessionId } = this.#options
    const known = this.#known
    // It was whole when it was read here, and it is as long as it was then: reading all of it again would tell nothing
    // more.
    if (known.whole && recordCount === known.records) return known.records
    const stored = await store.read(sessionId)
    // A store that could repair itself has done so when it was opened: after what is still broken nothing would be read
    // again.
    if (stored?.damage !== undefined) throw damagedLog(sessionId, stored.damage)
    const there = stored?.records.length ?? 0
    // Two processes that open a new session of one id both make it; as long as neither said anything, neither is too
    // late.
    const isEmpty = known.records === 0 && stored?.records.every(({ type }) => type === 'session')
    if (there !== known.records && !isEmpty)
      throw new StoreError(
        'store_stale',
        `Session '${sessionId}' has changed since it was read here (${there} records, ${known.records} were known). Resume it again.`,
      )
    return there
  }

  #clean(records: readonly SessionRecord[]): readonly SessionRecord[] {
    const { redact, isClean } = this.#options
    if (redact === undefined || (isClean && isFineAsJson(records, isClean))) return records
    return records.map((record) => redactValue(record, redact))
  }
}

function isElsewhere(error: unknown): boolean {
  return error instanceof SessionLockedError || (error instanceof StoreError && error.code === 'store_stale')
}
