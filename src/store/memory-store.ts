import { createHash } from 'node:crypto'
import { hostname } from 'node:os'
import { SessionLockedError, StoreError } from './errors.js'
import type { SessionRecord } from './records.js'
import { refuseFutureSchema } from './schema.js'
import { newestFirst, sessionInfo } from './session-info.js'
import type {
  EditRecords,
  Lease,
  OpenLogOptions,
  SessionInfo,
  SessionLog,
  SessionStore,
  StoredSession,
} from './session-store.js'

/**
 * A store in the memory of this process. Agents that share one instance share its sessions. Records are stored as the
 * text that a file would contain, so later changes of an object have no effect, and reading returns what any other
 * store would return.
 *
 * @example
 * ```ts
 * const store = new MemorySessionStore()
 * ```
 */
export class MemorySessionStore implements SessionStore {
  readonly backend = 'memory'
  readonly #sessions = new Map<string, KeptSession>()

  async list(): Promise<SessionInfo[]> {
    return newestFirst([...this.#sessions].map(([id, { lines }]) => sessionInfo(id, lines.map(parse))))
  }

  async read(sessionId: string): Promise<StoredSession | undefined> {
    return this.readSync(sessionId)
  }

  readSync(sessionId: string): StoredSession | undefined {
    const session = this.#sessions.get(checked(sessionId))
    if (session === undefined) return undefined
    const records = session.lines.map(parse)
    for (const record of records) refuseFutureSchema(sessionId, record)
    return { records }
  }

  async countRecords(sessionId: string): Promise<number> {
    return this.#sessions.get(checked(sessionId))?.lines.length ?? 0
  }

  async create(sessionId: string, records: readonly SessionRecord[]): Promise<boolean> {
    if (this.#sessions.has(checked(sessionId))) return false
    const lines = records.map(({ type, data }) => JSON.stringify({ type, data }))
    this.#sessions.set(sessionId, { ...emptySession(), lines })
    return true
  }

  async open(sessionId: string, { holder, now }: OpenLogOptions): Promise<SessionLog> {
    const session = this.#sessions.get(checked(sessionId)) ?? emptySession()
    if (session.lease !== undefined) throw new SessionLockedError(sessionId, session.lease)
    for (const line of session.lines) refuseFutureSchema(sessionId, parse(line))
    this.#sessions.set(sessionId, session)
    session.fence++
    const lease = { holder, host: hostname(), pid: process.pid, acquiredAtMs: now(), fence: session.fence }
    session.lease = lease
    return new MemoryLog(sessionId, session, lease)
  }

  async delete(sessionId: string): Promise<boolean> {
    const session = this.#sessions.get(checked(sessionId))
    if (session?.lease !== undefined) throw new SessionLockedError(sessionId, session.lease)
    return this.#sessions.delete(sessionId)
  }

  async rewrite(sessionId: string, edit: EditRecords): Promise<void> {
    const session = this.#sessions.get(checked(sessionId))
    if (session === undefined) return
    if (session.lease !== undefined) throw new SessionLockedError(sessionId, session.lease)
    const lines = edit(this.readSync(sessionId)?.records ?? []).map((record) => JSON.stringify(record))
    session.lines.length = 0
    for (const line of lines) session.lines.push(line)
  }

  async readBlob(sessionId: string, digest: string): Promise<Uint8Array | undefined> {
    return this.readBlobSync(sessionId, digest)
  }

  readBlobSync(sessionId: string, digest: string): Uint8Array | undefined {
    return this.#sessions.get(checked(sessionId))?.blobs.get(digest)?.slice()
  }
}

type KeptSession = {
  readonly lines: string[]
  readonly blobs: Map<string, Uint8Array>
  lease?: Lease
  fence: number
}

function emptySession(): KeptSession {
  return { lines: [], blobs: new Map(), fence: 0 }
}

function checked(sessionId: string): string {
  if (sessionId === '') throw new StoreError('store_bad_id', 'The id of a session must not be empty.')
  return sessionId
}

function parse(line: string): SessionRecord {
  return JSON.parse(line) as SessionRecord
}

class MemoryLog implements SessionLog {
  readonly lease: Lease
  readonly recordCount: number
  readonly #sessionId: string
  readonly #session: KeptSession
  #closed = false

  constructor(sessionId: string, session: KeptSession, lease: Lease) {
    this.#sessionId = sessionId
    this.#session = session
    this.lease = lease
    this.recordCount = session.lines.length
  }

  async append(records: readonly SessionRecord[]): Promise<void> {
    this.#refuseWhenClosed()
    const lines = records.map(({ type, data }) => JSON.stringify({ type, data }))
    for (const line of lines) this.#session.lines.push(line)
  }

  async writeBlob(bytes: Uint8Array): Promise<string> {
    this.#refuseWhenClosed()
    const digest = createHash('sha256').update(bytes).digest('hex')
    if (!this.#session.blobs.has(digest)) this.#session.blobs.set(digest, bytes.slice())
    return digest
  }

  async flush(): Promise<void> {
    this.#refuseWhenClosed()
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    delete this.#session.lease
  }

  #refuseWhenClosed(): void {
    if (this.#closed) throw logClosed(this.#sessionId)
  }
}

/** Creates the error for calls after a log was closed. */
export function logClosed(sessionId: string): StoreError {
  return new StoreError(
    'store_closed',
    `The log of session '${sessionId}' is closed. Open the session again to write to it.`,
  )
}
