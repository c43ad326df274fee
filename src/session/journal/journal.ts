import { jsonIfFine, redactValue } from '../../feature/redact-value.js'
import { damagedLog, SessionLockedError, StoreError } from '../../store/errors.js'
import type { SessionRecord } from '../../store/records.js'
import type { AppendOptions, Durability, SessionLog, SessionStore } from '../../store/session-store.js'
import { Turns } from '../../store/turns.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import { SessionClosedError } from '../errors.js'

export type JournalOptions = {
  readonly store: SessionStore
  readonly sessionId: string
  /** The name of the writer, shown to another process that cannot get the lease. */
  readonly holder: string
  readonly durability?: Durability
  /** Removes what must not be written from every text. */
  readonly redact?: (text: string) => string
  /** Whether `redact` would leave every text inside a JSON text unchanged. False: it may change one. */
  readonly isClean?: (json: string) => boolean
  /** The number of records that were read here, and whether the log was undamaged. */
  readonly known: { readonly records: number; readonly whole: boolean }
  /** Returns the first records after the log is opened; `damage` describes damage to the log. */
  first(damage: string | undefined): readonly SessionRecord[]
  now(): number
}

/** Records, or a promise of records whose large content is first saved next to the log. */
type Handed = readonly SessionRecord[] | Promise<readonly SessionRecord[]>

/** The maximum delay, in milliseconds, of records without a waiting caller. */
const soonMs = 20

/** Starts the writes of records without a waiting caller: one instance for all sessions of a store. */
const writesOf = new WeakMap<SessionStore, Turns>()

/**
 * The log of one session, opened at the first record. Records are in the order in which they were added. After a failed
 * write every waiting caller gets the error: a session that cannot record must not continue.
 */
export class Journal {
  readonly #options: JournalOptions
  readonly #writes: Turns
  #log: Promise<SessionLog> | undefined
  /** The records that are not being written yet, and the write that will include all of them. */
  #waiting: Handed[] = []
  #next: Promise<void> | undefined
  /** Whether a caller waits until the records are on disk. */
  #awaited = false
  #last: Promise<void> = Promise.resolve()
  #closed = false
  #sealed = false
  /** Whether all records are written and the lease is released: it must not be acquired again. */
  #isReleased = false
  /** The error of the first failed write: no write can follow it. */
  #failure: { readonly error: unknown } | undefined
  /** Whether a caller got that error. Otherwise `close` throws it. */
  #isReported = false
  /**
   * Settles, and never rejects, after the request to create the session in the store; undefined for a session that
   * already existed.
   */
  #creation: Promise<void> | undefined
  /** Whether the log has the first records. */
  #introduced = false
  /** Whether the store has the session, created here or by another process. */
  #isThere = false
  #known: JournalOptions['known']
  /** Whether this process holds the lease until the session is closed, because it writes. */
  #taken = false
  /** Settles when a lease that was acquired only to save is released. */
  #released: Promise<void> = Promise.resolve()

  constructor(options: JournalOptions) {
    this.#options = options
    this.#known = options.known
    this.#writes = writesOf.get(options.store) ?? new Turns(soonMs, { keepsAlive: true })
    writesOf.set(options.store, this.#writes)
  }

  /** Creates the session in the store before its first message. If that fails, it is created with its first record. */
  create(): void {
    this.#creation = this.#create().catch(() => undefined)
  }

  async #create(): Promise<void> {
    const { store, sessionId, holder, first, now } = this.#options
    if (store.create === undefined) return
    const { records } = this.#clean(first(undefined))
    const isMade = await store.create(sessionId, records, { holder, now })
    this.#isThere = true
    if (!isMade) return
    this.#introduced = true
    this.#known = { records: records.length, whole: true }
  }

  /**
   * Adds records. Resolves when these and all earlier ones are as durable as the setting requires. Records that are
   * added during a write are written together in the next one, atomically.
   */
  append(records: Handed): Promise<void> {
    return this.#takes(records) ? this.#reporting(this.#write()) : Promise.resolve()
  }

  /**
   * Adds records. Resolves when these and all earlier ones outlive the process. They are on disk soon, and before any
   * later `append` resolves: a caller that does nothing irreversible need not wait for the disk.
   */
  put(records: Handed): Promise<void> {
    return this.#takes(records) ? this.#reporting(this.#write(false)) : Promise.resolve()
  }

  /**
   * Like `append`, for records without a waiting caller: they are written with the next write that has one, or alone
   * after a short delay. A separate write for each would delay later records by one disk sync each.
   */
  note(records: Handed): void {
    if (this.#takes(records) && this.#next === undefined) this.#writes.add(this)
  }

  /** Notes that the caller of a write gets its error. */
  #reporting(write: Promise<void>): Promise<void> {
    write.catch(() => {
      this.#isReported = true
    })
    return write
  }

  /**
   * Notes the error that the caller of a run gets. A run that was cancelled or closed is rejected because of that, and
   * not with the error of a write that failed meanwhile: `close` then throws the latter.
   */
  runFailed(error: unknown): void {
    if (this.#failure !== undefined) this.#isReported = this.#failure.error === error
  }

  /** Writes the records that were added by `note`. */
  takeTurn(): void {
    void this.#writeRest()
  }

  #takes(records: Handed): boolean {
    // The write that includes them reports the error; without such a write, no caller needs it.
    if (records instanceof Promise) records.catch(() => undefined)
    if (this.#closed || this.#sealed) return false
    this.#waiting.push(records)
    return true
  }

  /**
   * Acquires the lease to write the session. Has no effect when that fails; after a failed write it throws that error.
   */
  async open(): Promise<void> {
    this.#reportFailure()
    this.#taken = true
    await this.#open()
  }

  async writeBlob(bytes: Uint8Array): Promise<string> {
    this.#taken = true
    const log = await this.#open()
    return log.writeBlob(bytes)
  }

  /** Resolves when everything added so far is on disk, including a new session without messages. */
  async flush(): Promise<void> {
    await this.#writeRest()
    this.#reportFailure()
    if (this.#log === undefined && this.#creation !== undefined && !this.#closed) return this.#flushCreated()
    const log = await this.#log
    try {
      await log?.flush()
    } catch (error) {
      this.#isReported = true
      throw this.#failed(error)
    }
  }

  /**
   * Acquires the lease only for this call: the first process that sends a prompt holds it until it closes the session.
   */
  async #flushCreated(): Promise<void> {
    const log = await this.#open().catch((error: unknown) => {
      // Another process has written to the session since: what was written here is in the store, and nothing of this
      // process is left to flush.
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

  /** Whether the store has records that were not read here. The holder of the lease has read all of them. */
  async isStale(): Promise<boolean> {
    await this.#creation
    if (this.isHeld || this.#closed) return false
    const { store, sessionId } = this.#options
    // For a damaged log, only reading it gives the number of records.
    const count = this.#known.whole ? await store.countRecords?.(sessionId) : undefined
    const there = count ?? (await store.read(sessionId))?.records.length ?? 0
    return !this.isHeld && there !== this.#known.records
  }

  /** Drops everything that is added from now on; the lease is held until it is released. */
  seal(): void {
    void this.#writeRest()
    this.#sealed = true
  }

  /** Whether the log is sealed: a caller that must not continue without a record has to stop. */
  get isSealed(): boolean {
    return this.#sealed
  }

  /**
   * Writes the remaining records and releases the lease. Nothing is written afterwards. Rejects if records could not be
   * written and no other caller got that error.
   */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#creation
    await this.#writeRest()
    this.#isReleased = true
    const log = await this.#log?.catch(() => undefined)
    await log?.close()
    if (!this.#isReported) this.#reportFailure()
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
      // Content that could not be saved next to the log is missing from it, like a record that could not be written.
      for (const made of waiting)
        for (const record of made instanceof Promise ? await made : made) records.push(record)
    } catch (error) {
      throw this.#failed(error)
    }
    if (records.length === 0) return
    this.#taken = true
    const log = await this.#open()
    try {
      const clean = this.#clean(records)
      await log.append(clean.records, { soon, json: clean.json })
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

  /** Like `#refuseWhenFailed`, for a caller that gets the error. */
  #reportFailure(): void {
    if (this.#failure !== undefined) this.#isReported = true
    this.#refuseWhenFailed()
  }

  async #open(): Promise<SessionLog> {
    if (this.#isReleased) throw new SessionClosedError(this.#options.sessionId)
    this.#log ??= this.#start().catch((error: unknown) => {
      // The next attempt may succeed: another process may have released the lease by then.
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
      if (first.length > 0) await log.append(this.#clean(first).records, { soon: true })
      this.#introduced = true
      this.#known = { records: there + first.length, whole: true }
      return log
    } catch (error) {
      await log.close()
      throw error
    }
  }

  /**
   * Throws if another process wrote to the session after it was read and before the lease was acquired. Returns the
   * number of records.
   */
  async #refuseStale({ recordCount }: SessionLog): Promise<number> {
    const { store, sessionId } = this.#options
    const known = this.#known
    // The log was undamaged when it was read here and has the same length: reading it again would show nothing new.
    if (known.whole && recordCount === known.records) return known.records
    const stored = await store.read(sessionId)
    // A store that can repair a log did so when it was opened: records after the remaining damage could never be read.
    if (stored?.damage !== undefined) throw damagedLog(sessionId, stored.damage)
    const there = stored?.records.length ?? 0
    // Two processes that open a new session with the same id both create it; while neither has added a message, neither
    // is stale.
    const isEmpty = known.records === 0 && stored?.records.every(({ type }) => type === 'session')
    if (there !== known.records && !isEmpty)
      throw new StoreError(
        'store_stale',
        `Session '${sessionId}' has changed since it was read here (${there} records, ${known.records} were known). Resume it again.`,
      )
    return there
  }

  /** Removes what must not be written. `json` has the text of each record's data, if it was needed for the check. */
  #clean(records: readonly SessionRecord[]): Clean {
    const { redact, isClean } = this.#options
    if (redact === undefined) return { records, json: undefined }
    const json = isClean && jsonIfFine(records.map(dataOf), isClean)
    if (json !== undefined) return { records, json }
    return { records: records.map((record) => redactValue(record, redact)), json: undefined }
  }
}

type Clean = { readonly records: readonly SessionRecord[]; readonly json: AppendOptions['json'] }

function dataOf({ data }: SessionRecord): SessionRecord['data'] {
  return data
}

function isElsewhere(error: unknown): boolean {
  return error instanceof SessionLockedError || (error instanceof StoreError && error.code === 'store_stale')
}
