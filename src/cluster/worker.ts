import { hostname } from 'node:os'
import type { QueueMember, RunClaim, RunQueue, RunRetention, WakeReason } from '../run-queue/run-queue.js'
import { ClaimedRun, type ClaimOutcome } from './claimed-run.js'
import { claimWaits, reportQueue } from './queue-metrics.js'
import { AnswerCheck, answerRefused, clusterKey } from './signed-answer.js'
import { workerLimits } from './worker-limits.js'
import type { WorkerMetrics, WorkerOptions } from './worker-options.js'

const defaultPollMs = 1_000
const defaultDrainMs = 30_000
const maxRetryMs = 5_000

/**
 * Executes runs of a queue on sessions of an agent, until it is drained. Any number of workers, on any number of
 * machines, share a queue and a store.
 *
 * @example
 * const worker = new Worker({ agent, store, queue, workspaces: { main: '.' }, slots: 4 })
 * await worker.start()
 * process.once('SIGTERM', () => void worker.drain())
 */
export class Worker {
  readonly #options: WorkerOptions
  readonly #retention: RunRetention
  readonly #answers: AnswerCheck
  readonly #active = new Map<ClaimedRun, Promise<void>>()
  readonly #counts = {
    claimed: 0,
    completed: 0,
    failed: 0,
    cancelled: 0,
    suspended: 0,
    takenOver: 0,
    dead: 0,
    lost: 0,
    refusedAnswers: 0,
  }
  readonly #waited: ReturnType<typeof claimWaits>
  #endReport: () => void = () => undefined
  #endRetention: () => void = () => undefined
  #member: QueueMember | undefined
  #poll: NodeJS.Timeout | undefined
  #filling: Promise<void> | undefined
  #fillAgain = false
  #retryMs = 0
  #draining: Promise<void> | undefined

  constructor(options: WorkerOptions) {
    const slots = options.slots ?? 4
    if (!Number.isInteger(slots) || slots < 1) throw new TypeError('slots must be a positive integer.')
    if (Object.keys(options.workspaces).length === 0)
      throw new TypeError('A worker needs at least one workspace.')
    const limits = workerLimits(options, options.agent.clusterConfig)
    this.#options = { ...options, ...limits }
    this.#retention = limits.retention
    this.#answers = new AnswerCheck(clusterKey(options.queue, options.clusterKey), options.now ?? Date.now)
    this.#waited = claimWaits(options.agent.meter, (error) => this.#report(error))
  }

  /** The id of this node; undefined before it has joined. */
  get nodeId(): string | undefined {
    return this.#member?.nodeId
  }

  /** Joins the cluster and starts to claim runs. Rejects when the queue cannot be reached. */
  async start(): Promise<void> {
    const { queue, lanes = ['default'], pollMs = defaultPollMs } = this.#options
    const member = await queue.join({
      name: this.#options.name ?? hostname(),
      host: hostname(),
      pid: process.pid,
      version: workerVersion,
      slots: this.#slots,
      lanes,
    })
    this.#member = member
    member.onWake((reason) => this.#wake(reason))
    this.#poll = setInterval(() => {
      this.#wake('work')
      this.#wake('messages')
    }, pollMs)
    const report = (error: unknown): void => this.#report(error)
    this.#endReport = reportQueue(this.#options.agent.meter, queue, report)
    this.#endRetention = removeEndedRuns(queue, this.#retention, report)
    this.#fill()
  }

  metrics(): WorkerMetrics {
    return { ...this.#counts, active: this.#active.size, slots: this.#slots }
  }

  /**
   * Claims no more runs, lets active ones finish their round, and releases them for other nodes. Resolves when no run
   * is active here. A second call waits for the same end.
   */
  drain({ deadlineMs = defaultDrainMs }: { readonly deadlineMs?: number | undefined } = {}): Promise<void> {
    this.#draining ??= this.#drain(deadlineMs)
    return this.#draining
  }

  async #drain(deadlineMs: number): Promise<void> {
    clearInterval(this.#poll)
    this.#endReport()
    this.#endRetention()
    const leave = (): Promise<unknown> =>
      Promise.all([...this.#active].map(([run, ended]) => Promise.all([run.leave(deadlineMs), ended])))
    // Called first, so that an active run does not begin another round. A claim in progress is released after it.
    const left = leave()
    await this.#filling
    await left
    await leave()
    await this.#member?.leave()
  }

  get #slots(): number {
    return this.#options.slots ?? 4
  }

  #wake(reason: WakeReason): void {
    if (reason === 'work') this.#fill()
    else if (reason === 'drain') this.#options.onDrain?.()
    else for (const run of this.#active.keys()) run.service().catch((error: unknown) => this.#report(error))
  }

  /** Claims runs while there are free slots, one claim at a time. */
  #fill(): void {
    if (this.#draining !== undefined) return
    if (this.#filling !== undefined) {
      this.#fillAgain = true
      return
    }
    this.#filling = this.#claim()
      .catch(async (error: unknown) => {
        this.#report(error)
        this.#retryMs = Math.min(maxRetryMs, Math.max(100, this.#retryMs * 2))
        await new Promise((resolve) => setTimeout(resolve, this.#retryMs))
      })
      .finally(() => {
        this.#filling = undefined
        if (!this.#fillAgain) return
        this.#fillAgain = false
        this.#fill()
      })
  }

  async #claim(): Promise<void> {
    const member = this.#member
    const free = this.#slots - this.#active.size
    if (member === undefined || free <= 0) return
    const { lanes = ['default'], tenantLimits } = this.#options
    const claims = await member.claim({ lanes, max: free, tenantLimits })
    this.#retryMs = 0
    for (const claim of claims) {
      this.#counts.claimed += 1
      this.#waited(claim.run)
      if (claim.run.takeovers > 0) this.#counts.takenOver += 1
      const run = new ClaimedRun({
        options: this.#options,
        member,
        claim,
        answers: this.#answers,
        refusedAnswer: (reason) => {
          this.#counts.refusedAnswers += 1
          this.#report(answerRefused(claim.run.runId, reason))
        },
      })
      const ended = run
        .execute()
        .then((outcome) => this.#count(outcome))
        .catch((error: unknown) => this.#release(member, claim, error))
        .finally(() => {
          this.#active.delete(run)
          this.#fill()
        })
      this.#active.set(run, ended)
    }
    // More runs may be available by the time these have started.
    if (claims.length === free) this.#fillAgain = true
  }

  /** Returns a run that could not be executed here to the queue, as soon as the queue can be reached. */
  async #release(member: QueueMember, claim: RunClaim, cause: unknown): Promise<void> {
    this.#report(cause)
    for (let waitMs = 100; this.#draining === undefined; waitMs = Math.min(waitMs * 2, maxRetryMs)) {
      await new Promise((resolve) => setTimeout(resolve, waitMs))
      try {
        await member.settle(claim, { state: 'queued' })
        return
      } catch (error) {
        this.#report(error)
      }
    }
  }

  #count(outcome: ClaimOutcome): void {
    if (outcome === 'queued' || outcome === 'waiting') return
    this.#counts[outcome] += 1
  }

  #report(error: unknown): void {
    this.#options.onError?.(error)
  }
}

/** The version that a node reports to others. */
const workerVersion = '1'

const everyMs = 10 * 60_000

/**
 * Removes runs that have ended from time to time, also those that an earlier process left.
 *
 * @returns a function that stops it
 */
function removeEndedRuns(
  queue: RunQueue,
  retention: RunRetention,
  report: (error: unknown) => void,
): () => void {
  let isStopped = false
  let timer: NodeJS.Timeout | undefined
  const remove = async (): Promise<void> => {
    try {
      while (!isStopped && (await queue.removeEnded(retention)) > 0);
    } catch (error) {
      if (!isStopped) report(error)
    }
    // Random, so that nodes that started together do not run this at the same time.
    if (!isStopped) timer = setTimeout(remove, everyMs * (0.5 + Math.random())).unref()
  }
  timer = setTimeout(remove, Math.random() * firstWithinMs).unref()
  return () => {
    isStopped = true
    clearTimeout(timer)
  }
}

const firstWithinMs = 5_000
