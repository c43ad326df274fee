import { createHash, randomUUID } from 'node:crypto'
import type { RunSnapshot } from '../session/runs.js'
import type { Session } from '../session/session.js'
import { CapstanError } from '../tool/errors.js'
import type { Resumed } from './follow-run.js'
import type { Principal } from './options.js'
import { ProblemError } from './problem.js'
import type { RunInput, ServerCore } from './server-core.js'

/** The runs that this process executes: starts and resumes them, and counts those that are active. */
export class LocalRuns {
  readonly #core: ServerCore
  readonly #active = new Map<string, Promise<unknown>>()
  readonly #resuming = new Map<string, Promise<Resumed>>()
  /** Runs with an idempotency key that are not in the store yet. */
  readonly #starting = new Map<string, { readonly runId: string; readonly run: Promise<RunSnapshot> }>()

  constructor(core: ServerCore) {
    this.#core = core
  }

  get active(): number {
    return this.#active.size
  }

  /** Resolves when the currently active runs have ended. */
  settled(): Promise<unknown> {
    return Promise.all(this.#active.values())
  }

  /** Starts a run, or returns the one that was started with the same key. */
  async start(
    principal: Principal,
    session: Session,
    input: RunInput,
    key: string | undefined,
  ): Promise<RunSnapshot> {
    if (key === undefined) return this.#submit(principal, session, input, randomUUID())
    const prefix = keyPrefix(principal, session.sessionId, key)
    // Not part of the digest, because each attempt of a client can have its own trace.
    const { traceparent: _, correlationId: __, ...asked } = input
    const runId = `${prefix}${digestOf(asked).slice(0, 16)}`
    const known = (await session.runs()).find(({ id }) => id.startsWith(prefix))
    const starting = this.#starting.get(prefix)
    const other = known?.id ?? starting?.runId
    if (other !== undefined && other !== runId) throw new ProblemError('idempotency_key_reused')
    if (starting !== undefined) return starting.run
    if (known !== undefined) return known
    const run = this.#submit(principal, session, input, runId)
    this.#starting.set(prefix, { runId, run })
    return run.finally(() => this.#starting.delete(prefix))
  }

  /** Submits a run to the session, which executes it in this process. */
  async #submit(
    principal: Principal,
    session: Session,
    { prompt, attachments, metadata, traceparent }: RunInput,
    runId: string,
  ): Promise<RunSnapshot> {
    if (this.#core.isDraining) throw new ProblemError('server_stopping')
    const release = this.#core.usage.take(principal, 'runs')
    const ended = session.send({
      prompt,
      runId,
      ...(attachments !== undefined && { attachments }),
      ...((metadata ?? traceparent) !== undefined && {
        metadata: { ...(traceparent !== undefined && { traceparent }), ...metadata },
      }),
    })
    this.#watchEnd(session, runId, ended, release)
    const started = await session.runSnapshot(runId)
    if (started === null) {
      await ended
      throw new ProblemError('internal_error')
    }
    this.#core.started(session, runId)
    if (started.status !== 'queued') await this.#begun(session, runId)
    await session.save()
    return (await session.runSnapshot(runId)) ?? started
  }

  /** Waits for the first event. Throws if the session could not be acquired, in which case no run was started. */
  async #begun(session: Session, runId: string): Promise<void> {
    for await (const { event } of session.watch(runId)) {
      if (event.type !== 'error' || event.code === undefined) return
      if (event.code !== 'session_locked' && event.code !== 'store_stale') return
      void this.#core.pool.close(session.sessionId)
      throw new CapstanError(event.code, event.error)
    }
  }

  #watchEnd(session: Session, runId: string, ended: Promise<unknown>, release: () => void): void {
    const hold = this.#core.pool.hold(session.sessionId)
    const key = `${session.sessionId}/${runId}`
    const settled = ended
      .then(
        () => 'completed',
        () => 'failed',
      )
      .then(async (outcome) => {
        release()
        hold()
        this.#active.delete(key)
        const run = await session.runSnapshot(runId)
        this.#core.metrics.runEnded(run?.status ?? outcome, run)
        if ((await session.currentRun()) === null) this.#core.savedAnswers.forget(session.sessionId)
      })
    this.#active.set(key, settled)
    this.#core.metrics.runStarted()
  }

  /** Resumes an interrupted run. Concurrent callers share one resumption. */
  resume(session: Session, runId: string): Promise<Resumed> {
    const key = `${session.sessionId}/${runId}`
    const known = this.#resuming.get(key)
    if (known !== undefined) return known
    const resuming = this.#resume(session, runId)
    this.#resuming.set(key, resuming)
    const forget = (): unknown => this.#resuming.delete(key)
    resuming.then(forget, forget)
    return resuming
  }

  async #resume(session: Session, runId: string): Promise<Resumed> {
    if (this.#core.isDraining) throw new ProblemError('server_stopping')
    await this.#core.refuseElsewhere(session)
    return new Promise<Resumed>((resolve, reject) => {
      const onStart = (newRunId: string): void => {
        resolve({ runId: newRunId })
        this.#core.started(session, newRunId)
      }
      const ended = session.resumeRun(runId, { onStart })
      ended.then((result) => resolve({ result }), reject)
      this.#watchEnd(session, `${runId}+`, ended, () => undefined)
    })
  }
}

/**
 * Returns the prefix of the ids of runs that a caller started with this key. It is the same in every process with the
 * store.
 */
function keyPrefix({ id, tenantId = '' }: Principal, sessionId: string, key: string): string {
  return `run-${digestOf([tenantId, id, sessionId, key]).slice(0, 32)}-`
}

export function digestOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex')
}
