import { realpathSync } from 'node:fs'
import { basename } from 'node:path'
import type { Agent } from '../agent/agent.js'
import { load } from '../session/journal/restore.js'
import type { SessionOptions } from '../session/options.js'
import { retentionCaps } from '../session/retention.js'
import type { Session } from '../session/session.js'
import { kernelOf } from '../session/session-class.js'
import { isHeld } from '../store/is-held.js'
import { MemorySessionStore } from '../store/memory-store.js'
import type { SessionStore } from '../store/session-store.js'
import { CapstanError } from '../tool/errors.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { defaultLimits, type Principal, type ServerOptions } from './options.js'
import { ProblemError } from './problem.js'
import type { SavedAnswers } from './questions.js'
import { seesTenant } from './sees-tenant.js'

/** The sessions of the server: opened on use, closed when idle. A session is visible only to its own tenant. */
export class SessionPool {
  readonly store: SessionStore
  /** The real paths of the directories that sessions can work in. */
  readonly workspaces: readonly string[]
  readonly #agent: Agent
  readonly #options: ServerOptions
  readonly #savedAnswers: SavedAnswers
  readonly #now: () => number
  readonly #entries = new Map<string, Entry>()
  readonly #sweep: ReturnType<typeof setInterval>

  constructor(agent: Agent, options: ServerOptions, savedAnswers: SavedAnswers, now: () => number) {
    this.#agent = agent
    this.#options = options
    this.#savedAnswers = savedAnswers
    this.#now = now
    this.store = options.store ?? agent.sessionStore ?? new MemorySessionStore()
    this.workspaces = (options.workspaces ?? ['.']).map((path) => realpathSync(path))
    const idleMs = options.limits?.idleMs ?? defaultLimits.idleMs
    this.#sweep = setInterval(() => this.#closeIdle(idleMs), Math.max(1_000, idleMs / 4))
    this.#sweep.unref()
  }

  /** The sessions that are open now. */
  open(): Session[] {
    const own = [...this.#entries.values()].flatMap(({ session }) => (session === undefined ? [] : [session]))
    return [...this.#hosted(), ...own]
  }

  #hosted(): readonly Session[] {
    return (this.#options.hostSessions?.() ?? []).filter(({ isClosed }) => !isClosed)
  }

  /** Creates a session for a principal. `workspace` is an allowed path or its base name. */
  async create(
    principal: Principal,
    given: {
      readonly sessionId?: string | undefined
      readonly workspace?: string | undefined
      readonly title?: string | undefined
      readonly options?: SessionOptions | undefined
    },
  ): Promise<Session> {
    const root = this.workspaceFor(given.workspace)
    if (given.sessionId !== undefined && (await this.#isKnown(given.sessionId)))
      throw new ProblemError('session_exists')
    let session: Session | undefined
    session = this.#agent.session(root, {
      ...this.#base(() => session?.sessionId ?? ''),
      ...given.options,
      ...omitUndefined({ title: given.title, sessionId: given.sessionId, tenantId: principal.tenantId }),
      principal: principal.id,
    })
    await session.save()
    this.adopt(session)
    return session
  }

  /** Returns the session with this id, if the principal can see it. */
  async find(principal: Principal, sessionId: string): Promise<Session> {
    // A link to one session must not reveal which others exist, and must not open them.
    if (principal.readsOnly !== undefined && principal.readsOnly !== sessionId)
      throw new ProblemError('session_not_found')
    const session = await this.current(sessionId).catch((error: unknown) => {
      // The same response as for a session of another tenant.
      if (error instanceof CapstanError && ['session_not_found', 'store_bad_id'].includes(error.code))
        throw new ProblemError('session_not_found')
      throw error
    })
    const isVisible = seesTenant(principal, session.tenantId) && this.workspaces.includes(session.workspace)
    if (!isVisible) throw new ProblemError('session_not_found')
    return session
  }

  /** Adds a session that the agent opened for a caller, such as a fork. */
  adopt(session: Session): void {
    const opening = Promise.resolve(session)
    this.#entries.set(session.sessionId, { opening, session, users: 0, usedAtMs: this.#now() })
  }

  /** Returns the options of every session, for sessions that the agent opens itself. */
  optionsFor(principal: Principal, sessionId: () => string): SessionOptions {
    return {
      ...this.#base(sessionId),
      ...omitUndefined({ tenantId: principal.tenantId }),
      principal: principal.id,
    }
  }

  workspaceFor(named: string | undefined): string {
    const [first = '.'] = this.workspaces
    if (named === undefined) return first
    const found = this.workspaces.find((path) => path === named || basename(path) === named)
    if (found === undefined)
      throw new ProblemError(
        'workspace_not_allowed',
        `The workspace ${JSON.stringify(named)} is not allowed.`,
      )
    return found
  }

  /** Marks a session as used until the returned function is called. */
  hold(sessionId: string): () => void {
    const entry = this.#entries.get(sessionId)
    if (entry === undefined) return () => undefined
    entry.users += 1
    let isHeld = true
    return () => {
      if (isHeld) entry.users -= 1
      isHeld = false
      entry.usedAtMs = this.#now()
    }
  }

  /** Throws for an operation that would end a session that the host opened itself. */
  assertNotHosted({ sessionId }: Session): void {
    if (this.#hosted().some((session) => session.sessionId === sessionId))
      throw new ProblemError('session_locked', 'The host of this server has the session open itself.')
  }

  /** Closes a session in this process; it stays in the store. */
  async close(sessionId: string): Promise<void> {
    const entry = this.#entries.get(sessionId)
    this.#entries.delete(sessionId)
    this.#savedAnswers.forget(sessionId)
    const session = await entry?.opening.catch(() => undefined)
    await session?.close()
  }

  /** Closes a session that this process holds for writing; it is opened again on use. */
  async release(session: Session): Promise<void> {
    if (kernelOf(session).log.recorder?.isHeld === true) await this.close(session.sessionId)
  }

  /**
   * Closes all sessions in this process, so that another process can resume their runs. Throws the first error after
   * all are closed.
   */
  async suspendAll(): Promise<void> {
    clearInterval(this.#sweep)
    const all = [...this.#entries.values()]
    this.#entries.clear()
    const ends = await Promise.allSettled(
      all.map(async ({ opening }) => {
        const session = await opening.catch(() => undefined)
        await session?.suspend()
      }),
    )
    for (const end of ends) if (end.status === 'rejected') throw end.reason
  }

  async #isKnown(sessionId: string): Promise<boolean> {
    return this.#entries.has(sessionId) || (await this.store.read(sessionId)) !== undefined
  }

  /** Whether another live process holds the session for writing. */
  async isElsewhere(session: Session): Promise<boolean> {
    if (kernelOf(session).log.recorder?.isHeld === true) return false
    return isHeld(this.store, session.sessionId, this.#now)
  }

  /** Returns the session in its current state in the store. */
  async current(sessionId: string): Promise<Session> {
    const hosted = this.#hosted().find((session) => session.sessionId === sessionId)
    if (hosted !== undefined) return hosted
    const known = this.#entries.get(sessionId)
    if (known === undefined || known.session?.isClosed === true) return this.#open(sessionId)
    known.usedAtMs = this.#now()
    const session = await known.opening
    // A session that another process has written to since is read again.
    if ((await kernelOf(session).log.recorder?.isStale()) !== true) return session
    if (this.#entries.get(sessionId) === known) {
      this.#entries.delete(sessionId)
      session.suspend().catch((error: unknown) => this.#options.onError?.(error))
    }
    return this.current(sessionId)
  }

  #open(sessionId: string): Promise<Session> {
    const opening = this.#resume(sessionId)
    const entry: Entry = { opening, users: 0, usedAtMs: this.#now() }
    this.#entries.set(sessionId, entry)
    opening.then(
      (session) => {
        entry.session = session
      },
      () => {
        if (this.#entries.get(sessionId) === entry) this.#entries.delete(sessionId)
      },
    )
    return opening
  }

  async #resume(sessionId: string): Promise<Session> {
    const options = this.#base(() => sessionId)
    try {
      return await this.#agent.openSession(sessionId, options)
    } catch (error) {
      if (!(error instanceof CapstanError) || !['session_option', 'workspace_unusable'].includes(error.code))
        throw error
      // A log cannot choose some directories, such as a home directory. The host can, by listing it in the workspaces.
      const workspace = (await load(this.store, sessionId))?.session?.workspaceRoot
      if (workspace === undefined || !this.workspaces.includes(workspace))
        throw new ProblemError('session_not_found')
      return this.#agent.openSession(sessionId, { ...options, workspace })
    }
  }

  #base(sessionId: () => string): SessionOptions {
    const { approvalTimeoutMs = 24 * 3_600_000, session } = this.#options
    return {
      confirmationPolicy: { enabled: true, defaultTimeoutMs: approvalTimeoutMs },
      onQuestion: this.#savedAnswers.handlerOf(sessionId),
      retentionLimits: retentionCaps,
      ...session,
      sessionStore: this.store,
    }
  }

  #closeIdle(idleMs: number): void {
    const before = this.#now() - idleMs
    for (const [id, { session, users, usedAtMs }] of this.#entries) {
      if (session === undefined || users > 0 || usedAtMs > before) continue
      if (session.isClosed) this.#entries.delete(id)
      else this.#closeUnlessBusy(session).catch((error: unknown) => this.#options.onError?.(error))
    }
  }

  async #closeUnlessBusy(session: Session): Promise<void> {
    const isActive = (await session.runs()).some(({ status }) => status === 'running' || status === 'queued')
    if (!isActive && session.pendingConfirmations().length === 0) await this.close(session.sessionId)
  }
}

type Entry = {
  readonly opening: Promise<Session>
  session?: Session | undefined
  users: number
  usedAtMs: number
}
