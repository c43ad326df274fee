import type { SessionRecord } from './records.js'

/**
 * When appended records are on disk: `sync` before the append resolves (or soon after, if that is asked for), `async` soon after, `exit`
 * when the log is closed.
 */
export const durabilities = ['sync', 'async', 'exit'] as const
export type Durability = (typeof durabilities)[number]

export type SessionInfo = {
  readonly id: string
  readonly createdAtMs?: number
  readonly updatedAtMs?: number
  readonly title?: string
  readonly workspaceRoot?: string
  /** `tenantId`, `principal` and the like, as the session was opened with. */
  readonly labels?: Readonly<Record<string, string>>
  /** The session that this one was forked from, or whose subagent it is. */
  readonly parentId?: string | undefined
}

/** Who holds a session for writing. */
export type Lease = {
  readonly holder: string
  readonly host: string
  readonly pid: number
  readonly acquiredAtMs: number
  /** Grows with every holder: what an earlier one still tries to write is refused. */
  readonly fence: number
}

/** What was read of a session, and whether all of it was there. */
export type StoredSession = {
  readonly records: readonly SessionRecord[]
  /** What is wrong with the log, in words; everything before the damage is in `records`. */
  readonly damage?: string
}

/** Where sessions are kept. Small on purpose: `checkSessionStore` of `capstan/testing` holds an implementation to all of it. */
export interface SessionStore {
  readonly backend: string
  /** Where it is on the disk of this machine. Tools and commands of sessions have no access there. */
  readonly paths?: readonly string[]
  /** All sessions, newest first. */
  list(): Promise<SessionInfo[]>
  /** What is kept of a session; undefined when there is none. Never needs the lease. */
  read(sessionId: string): Promise<StoredSession | undefined>
  /** The same at once, for stores that can. */
  readSync?(sessionId: string): StoredSession | undefined
  /**
   * Makes a session of these records, all or nothing, unless there is one of this id: false then. Takes no lease. A store that can write
   * at once has done so when the call returns. Stores without it make a session with its first message.
   */
  create?(
    sessionId: string,
    records: readonly SessionRecord[],
    options: Omit<OpenLogOptions, 'durability'>,
  ): Promise<boolean>
  /** Takes the session for writing, and makes it when there is none. Rejects with `SessionLockedError` while a living holder has it. */
  open(sessionId: string, options: OpenLogOptions): Promise<SessionLog>
  /** Removes everything of a session that nobody holds. False when there was none. */
  delete(sessionId: string): Promise<boolean>
  /**
   * Puts what `edit` makes of a session's records in their place: all of it or nothing, whenever the process ends. Refused like `open`
   * while a living holder has the session, and for a log that is damaged. The same list back leaves everything as it is. `edit` may be
   * called more than once. Stores without it only ever grow.
   */
  rewrite?(sessionId: string, edit: EditRecords, options: Omit<OpenLogOptions, 'durability'>): Promise<void>
  /** Large content by its digest. */
  readBlob(sessionId: string, digest: string): Promise<Uint8Array | undefined>
  readBlobSync?(sessionId: string, digest: string): Uint8Array | undefined
  /** Releases what the store itself holds. */
  close?(): Promise<void>
}

export type EditRecords = (records: readonly SessionRecord[]) => readonly SessionRecord[]

export type OpenLogOptions = {
  /** Who takes it, in words for the one who is refused. */
  readonly holder: string
  readonly durability?: Durability
  now(): number
}

export type AppendOptions = {
  /**
   * With `sync`: these are written when it resolves, so that they survive the process, and need not be on disk before the next that is
   * appended without this is. A store may put them on disk at once.
   */
  readonly soon?: boolean
}

/** A session's log in the hands of the one who may write it. */
export interface SessionLog {
  readonly lease: Lease
  /** What was wrong with the log when it was opened, in words; it goes on behind what was whole, and the rest is kept aside. */
  readonly damage?: string
  /** How many records it had when it was opened, for stores that know without reading them. */
  readonly recordCount?: number
  /** Appends all of them or none. Once it has resolved they are as safe as the durability says; a failed log takes no more. */
  append(records: readonly SessionRecord[], options?: AppendOptions): Promise<void>
  /** Keeps content beside the log, once, and gives its digest (SHA-256, hex). */
  writeBlob(bytes: Uint8Array): Promise<string>
  /** Everything appended so far is on disk. */
  flush(): Promise<void>
  /** Flushes and gives the session back. */
  close(): Promise<void>
}
