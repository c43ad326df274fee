import { randomIds, readHostEnv, systemClock } from '../loop/host-env.js'
import { type ForkPoint, type ForkSource, forkSession } from '../session/history/fork.js'
import { liveSource, storedSource } from '../session/history/fork-source.js'
import type { RestoredSession } from '../session/journal/restore.js'
import type { SessionOptions } from '../session/options.js'
import type { Session } from '../session/session.js'
import { kernelOf } from '../session/session-class.js'
import type { SessionStore } from '../store/session-store.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { noWorkspace } from './errors.js'

export type ForkRequest = {
  /** An open session, or the id of a stored one. */
  readonly from: Session | string
  readonly point: ForkPoint
  readonly options: SessionOptions
  /** The store of the agent. */
  readonly store: SessionStore | undefined
  readonly workspace: string | undefined
}

/** The workspace, options and state of a forked session. */
export type Fork = {
  readonly workspace: string
  readonly options: SessionOptions
  readonly agentId: string | undefined
  readonly state: RestoredSession
}

/**
 * Stores a fork of a session and returns what is needed to open it; undefined if there is no such session. An open
 * session is forked from memory, with all its options; another one from its store.
 */
export async function makeFork(request: ForkRequest): Promise<Fork | undefined> {
  const found = await find(request)
  if (found === undefined) return undefined
  const workspace =
    request.options.workspaceBackend?.root ?? request.workspace ?? found.source.session?.workspaceRoot
  if (workspace === undefined) throw noWorkspace(found.source.sessionId, 'fork')
  const options = { ...found.inherited, ...request.options }
  const hostEnv = readHostEnv(options.hostEnv ?? {})
  const { idGenerator = randomIds, clock = systemClock } = hostEnv
  const sessionId = request.options.sessionId ?? idGenerator.next()
  const state = await forkSession(found.source, request.point, {
    sessionId,
    now: () => clock.now(),
    newId: () => idGenerator.next(),
    ...omitUndefined({ store: found.store }),
  })
  return {
    workspace,
    options: { ...options, hostEnv, sessionId },
    agentId: found.source.session?.agent,
    state,
  }
}

type Found = {
  readonly source: ForkSource
  readonly inherited: SessionOptions
  readonly store: SessionStore | undefined
}

async function find({ from, options, store: fallback }: ForkRequest): Promise<Found | undefined> {
  if (typeof from !== 'string') {
    const { source, options: inherited } = await liveSource(kernelOf(from))
    return { source, inherited, store: options.sessionStore ?? inherited.sessionStore ?? fallback }
  }
  const store = options.sessionStore ?? fallback
  const { clock = systemClock } = readHostEnv(options.hostEnv ?? {})
  const source = store && (await storedSource(store, from, () => clock.now()))
  return source && { source, inherited: { sessionStore: store }, store }
}
