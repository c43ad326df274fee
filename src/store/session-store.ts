import type { SessionRecord } from './records.js'

/**
 * When appended records are on disk: `sync` before the append resolves (or soon after, if requested), `async` soon
 * after, `exit` when the log is closed.
 */
export const durabilities = ['sync', 'async', 'exit'] as const
/** When appended records are on disk; see {@link durabilities}. */
export type Durability = (typeof durabilities)[number]

/** The information about a session in a list. */
export type SessionInfo = {
  readonly id: string
  readonly createdAtMs?: number
  readonly updatedAtMs?: number
  readonly title?: string
  readonly workspaceRoot?: string
  /** Labels such as `tenantId` and `principal`, which the session was opened with. */
  readonly labels?: Readonly<Record<string, string>>
  /** The session that this one was forked from, or whose subagent it is. */
  readonly parentId?: string | undefined
}

/** The right to write a session, and its holder. */
export type Lease = {
  readonly holder: string
  readonly host: string
  readonly pid: number
  readonly acquiredAtMs: number
  /** Grows with every holder: later writes of an earlier holder are rejected. */
  readonly fence: number
}

/** The records of a stored session, and whether they were complete. */
export type StoredSession = {
  readonly records: readonly SessionRecord[]
  /** A description of the damage of the log; everything before the damage is in `records`. */
  readonly damage?: string | undefined
}

/** Stores sessions. `checkSessionStore` of `capstan/testing` tests an implementation. */
export interface SessionStore {
  readonly backend: string
  /** Its paths on the disk of this machine. Tools and commands of sessions have no access to them. */
  readonly paths?: readonly string[]
  /** Returns all sessions, newest first. */
  list(): Promise<SessionInfo[]>
  /** Returns a stored session; undefined when there is none. Never needs the lease. */
  read(sessionId: string): Promise<StoredSession | undefined>
  /** Reads a session synchronously, in stores that can. */
  readSync?(sessionId: string): StoredSession | undefined
  /**
   * Returns how many records `read` would return, 0 when there is no session. For stores that can count without reading
   * the records: a process uses it to detect that another one has written.
   */
  countRecords?(sessionId: string): Promise<number>
  /**
   * Creates a session from these records, all or nothing; returns false if there is one with this id. Needs no lease.
   * A store that can write synchronously has done so when the call returns. Stores without this method create a
   * session with its first message.
   */
  create?(
    sessionId: string,
    records: readonly SessionRecord[],
    options: Omit<OpenLogOptions, 'durability'>,
  ): Promise<boolean>
  /**
   * Acquires the session for writing, and creates it if there is none. Rejects with `SessionLockedError` while a live
   * holder has it.
   */
  open(sessionId: string, options: OpenLogOptions): Promise<SessionLog>
  /** Deletes a session that no process holds. Returns false when there was none. */
  delete(sessionId: string): Promise<boolean>
  /**
   * Replaces a session's records by the result of `edit`: all or nothing, whenever the process ends. Rejects like
   * `open` while a live holder has the session, and for a damaged log. Returning the same list changes nothing.
   * `edit` may be called more than once. Stores without this method only grow.
   */
  rewrite?(sessionId: string, edit: EditRecords, options: Omit<OpenLogOptions, 'durability'>): Promise<void>
  /** Returns a large content by its digest. */
  readBlob(sessionId: string, digest: string): Promise<Uint8Array | undefined>
  readBlobSync?(sessionId: string, digest: string): Uint8Array | undefined
  /** Passes messages between the processes of this store, for stores whose processes are on several machines. */
  readonly mailbox?: SessionMailbox
  /** The time of the store in milliseconds since 1970, for stores whose processes have clocks that can differ. */
  now?(): Promise<number>
  /** Releases the store's resources. */
  close?(): Promise<void>
}

/** A message for the process that holds a session. */
export type SessionMail = { readonly id: string; readonly body: string }

/** Messages for the process that holds a session, from any process of the store. */
export interface SessionMailbox {
  /** Adds a message, once for each id until its time has passed. Returns false when the id is known. */
  post(sessionId: string, mail: SessionMail & { readonly expiresAtMs: number }): Promise<boolean>
  /** Returns the messages that were not taken, the oldest first. */
  waiting(sessionId: string): Promise<readonly SessionMail[]>
  /** Marks a message as taken. Its id stays known until its time has passed. */
  take(sessionId: string, id: string): Promise<void>
}

/** Returns the new records of a session from the current ones. */
export type EditRecords = (records: readonly SessionRecord[]) => readonly SessionRecord[]

/** How a log is opened: the holder, the clock and the durability. */
export type OpenLogOptions = {
  /** The name of the holder, for the message to other processes. */
  readonly holder: string
  readonly durability?: Durability
  now(): number
}

/** The options of one append. */
export type AppendOptions = {
  /**
   * With `sync`: the records are written when it resolves, so that they survive the process, but are on disk only
   * with the next append without this option. A store can also put them on disk at once.
   */
  readonly soon?: boolean
  /**
   * The JSON text of the `data` of records, if the caller has it. A store can write these texts and need not serialize
   * the records again. Texts are found by the object itself, so that a log can leave records out or replace them before
   * it passes them on with the same options.
   */
  readonly json?: ReadonlyMap<object, string> | undefined
}

/** A session's log, open for writing by the holder of its lease. */
export interface SessionLog {
  readonly lease: Lease
  /**
   * A description of the damage found when the log was opened; records are appended after the undamaged part, and the
   * rest is saved separately.
   */
  readonly damage?: string
  /** The number of records when it was opened, for stores that know it without reading them. */
  readonly recordCount?: number
  /**
   * Appends all records or none. When it resolves, they are stored as the durability promises. Rejects after a failure.
   */
  append(records: readonly SessionRecord[], options?: AppendOptions): Promise<void>
  /** Stores content once outside of the log and returns its digest (SHA-256, hex). */
  writeBlob(bytes: Uint8Array): Promise<string>
  /** Resolves when everything appended so far is on disk. */
  flush(): Promise<void>
  /** Flushes and releases the session. */
  close(): Promise<void>
}
