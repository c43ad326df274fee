import { realpathSync } from 'node:fs'
import { basename } from 'node:path'
import type { QuestionHandler } from '../feature/question.js'
import { pause } from '../loop/on-abort.js'
import type { QueuedRun } from '../run-queue/run-queue.js'
import { load, type RestoredSession } from '../session/journal/restore.js'
import type { SessionOptions } from '../session/options.js'
import { retentionCaps } from '../session/retention.js'
import type { Session } from '../session/session.js'
import { kernelOf } from '../session/session-class.js'
import { SessionLockedError, StoreError } from '../store/errors.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { ClusterError } from './errors.js'
import { narrowedOptions } from './narrowed-options.js'
import { readRequestData } from './submission.js'
import { tenantGuard } from './tenant-guard.js'
import type { WorkerOptions } from './worker-options.js'

/** A session that is open for writing, with its log from before. */
export type OpenedRun = { readonly session: Session; readonly state: RestoredSession | undefined }

const dayMs = 24 * 3_600_000
const firstPauseMs = 50
const maxPauseMs = 250

/**
 * Opens the session of a run and acquires its lease. Waits while the previous node holds it, until the signal is
 * aborted.
 */
export async function openRunSession(
  options: WorkerOptions,
  run: QueuedRun,
  onQuestion: QuestionHandler,
  signal: AbortSignal,
): Promise<OpenedRun> {
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
    signal.throwIfAborted()
    const state = await load(options.store, run.sessionId)
    const session = await open(options, run, state, onQuestion)
    try {
      await kernelOf(session).log.recorder?.open()
      return { session, state }
    } catch (error) {
      await session.close()
      const isElsewhere =
        error instanceof SessionLockedError || (error instanceof StoreError && error.code === 'store_stale')
      if (!isElsewhere) throw error
    }
    await pause(pauseMs, signal)
  }
}

async function open(
  options: WorkerOptions,
  run: QueuedRun,
  state: RestoredSession | undefined,
  onQuestion: QuestionHandler,
): Promise<Session> {
  const { agent, store } = options
  const { sessionId, tenantId } = run
  const { workspace: named, principal, correlationId, options: asked } = readRequestData(run.request)
  // A run of another tenant must not change the tenant of a session.
  if (state !== undefined && state.session?.labels?.['tenantId'] !== tenantId)
    throw new ClusterError('session_not_found', `There is no session '${sessionId}'.`)
  const workspace = workspaceFor(options, named, state)
  const session: SessionOptions = {
    confirmationPolicy: { enabled: true, defaultTimeoutMs: options.approvalTimeoutMs ?? dayMs },
    retentionLimits: retentionCaps,
    onQuestion,
    ...narrowedOptions(options.session ?? {}, asked),
    ...omitUndefined({ tenantId, principal, correlationId }),
    ...guardOf(options, run),
    sessionId,
    sessionStore: store,
  }
  if (state !== undefined) return agent.openSession(sessionId, { ...session, workspace })
  return agent.session(workspace, session)
}

function guardOf(
  { tenantQuotas, queue, now = Date.now, session }: WorkerOptions,
  run: QueuedRun,
): Pick<SessionOptions, 'budgetGuard'> {
  const budgetGuard = tenantGuard(run, tenantQuotas, queue, now, session?.budgetGuard)
  return budgetGuard === undefined ? {} : { budgetGuard }
}

/** Returns the directory of a run: the one that the submission names, that of the session, or the first one. */
function workspaceFor(
  { workspaces }: WorkerOptions,
  named: string | undefined,
  state: RestoredSession | undefined,
): string {
  const known = Object.entries(workspaces).map(([name, path]) => ({ name, path: realpathSync(path) }))
  const before = state?.session?.workspaceRoot
  const found =
    named !== undefined
      ? known.find(({ name }) => name === named)
      : before === undefined
        ? known[0]
        : (known.find(({ path }) => path === before) ??
          known.find(({ path }) => basename(path) === basename(before)))
  if (found !== undefined) return found.path
  throw new ClusterError(
    'workspace_unknown',
    `This worker has no workspace '${named ?? before ?? ''}'. It has: ${known.map(({ name }) => name).join(', ')}.`,
  )
}
