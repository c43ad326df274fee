import { realpathSync } from 'node:fs'
import { basename } from 'node:path'
import type { Action } from '../authority/verdict.js'
import type { QuestionHandler } from '../feature/question.js'
import type { QueuedRun } from '../run-queue/run-queue.js'
import { load, type RestoredSession } from '../session/journal/restore.js'
import { restrictionsIn } from '../session/journal/restored-authority.js'
import type { SessionOptions } from '../session/options.js'
import { retentionCaps } from '../session/retention.js'
import type { Session } from '../session/session.js'
import { kernelOf } from '../session/session-class.js'
import { SessionLockedError, StoreError } from '../store/errors.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { ClusterError } from './errors.js'
import { readRequestData } from './submission.js'
import { tenantGuard } from './tenant-guard.js'
import type { WorkerOptions } from './worker-options.js'

/** A session that is open for writing, with its log as it was before. */
export type OpenedRun = { readonly session: Session; readonly state: RestoredSession | undefined }

const dayMs = 24 * 3_600_000
const firstPauseMs = 50
const maxPauseMs = 250

/**
 * Opens the session of a run and takes its lease. Waits while the node before still has it, until the signal is
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
      await kernelOf(session).recorder?.open()
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
  const { workspace: named, principal, correlationId } = readRequestData(run.request)
  // A run of another tenant does not change the tenant of a session.
  if (state !== undefined && state.session?.labels?.['tenantId'] !== tenantId)
    throw new ClusterError('session_not_found', `There is no session '${sessionId}'.`)
  const workspace = workspaceFor(options, named, state)
  const session: SessionOptions = {
    confirmationPolicy: { enabled: true, defaultTimeoutMs: options.approvalTimeoutMs ?? dayMs },
    retentionLimits: retentionCaps,
    onQuestion,
    ...narrowed(options.session ?? {}, run),
    ...omitUndefined({ tenantId, principal, correlationId }),
    ...guardOf(options, run),
    sessionId,
    sessionStore: store,
  }
  if (state !== undefined) return agent.openSession(sessionId, { ...session, workspace })
  return agent.session(workspace, session)
}

/** The options of the worker, restricted by those of the submission: the same way as by a log that is not trusted. */
function narrowed(own: SessionOptions, run: QueuedRun): SessionOptions {
  const { options } = readRequestData(run.request)
  const { permissionPolicy, ...restricted } = restrictionsIn({ options }, {}, own).options
  const { deny = [], defaultDecision } = permissionPolicy ?? {}
  const policy = own.permissionPolicy ?? {}
  // A rule cannot be in two lists.
  const others = (rules: readonly string[] | undefined): string[] =>
    (rules ?? []).filter((rule) => !deny.includes(rule))
  return {
    ...own,
    ...restricted,
    permissionPolicy: {
      ...policy,
      ...omitUndefined({ defaultDecision: stricter(policy.defaultDecision, defaultDecision) }),
      allow: others(policy.allow),
      ask: others(policy.ask),
      deny: [...new Set([...(policy.deny ?? []), ...deny])],
    },
  }
}

function stricter(...decisions: readonly (Action | undefined)[]): Action | undefined {
  return (['deny', 'ask', 'allow'] as const).find((action) => decisions.includes(action))
}

function guardOf(
  { tenantQuotas, queue, now = Date.now, session }: WorkerOptions,
  run: QueuedRun,
): Pick<SessionOptions, 'budgetGuard'> {
  const budgetGuard = tenantGuard(run, tenantQuotas, queue, now, session?.budgetGuard)
  return budgetGuard === undefined ? {} : { budgetGuard }
}

/** The directory of a run: the one that the submission names, that of the session, or the first. */
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

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done, { once: true })
  })
}
