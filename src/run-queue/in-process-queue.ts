import type { SessionStore } from '../store/session-store.js'
import { claimable } from './claimable.js'
import { type LocalNode, LocalNodes } from './local-nodes.js'
import { addToCounter, reserveInCounter, totalsIn } from './queue-counters.js'
import { type OpenedQueue, QueueLog, type StoredRun } from './queue-log.js'
import { statusOf } from './queue-status.js'
import { removeEnded } from './remove-ended.js'
import type {
  CancelOutcome,
  ClaimOptions,
  ClusterStatus,
  CounterAddition,
  CounterLimits,
  CounterTotals,
  LiveEvent,
  NodeDescription,
  PostOutcome,
  QueuedRun,
  QueueMember,
  Reservation,
  RunClaim,
  RunFilter,
  RunMessage,
  RunPage,
  RunQueue,
  RunRetention,
  RunSubmission,
  Settlement,
  SubmitOutcome,
  TenantScope,
} from './run-queue.js'
import { isOpenRun } from './run-queue.js'
import { RunWatchers } from './run-watchers.js'

/** The options of {@link InProcessRunQueue}. */
export type InProcessRunQueueOptions = {
  /** The store of the queue's own log, next to the sessions. */
  readonly store: SessionStore
  readonly now?: (() => number) | undefined
}

/** How many of the last events of an active run are in memory for readers; earlier ones are in its session log. */
const maxLiveEvents = 10_000

/**
 * A queue for one process, stored in a log of the session store: clients and workers share the object. A process that
 * starts again finds every run that was submitted, and takes over those that were active. A second process that opens
 * the same queue gets `SessionLockedError`; several processes need a queue in a database.
 *
 * @example
 * const queue = new InProcessRunQueue({ store })
 * const client = new RunClient({ store, queue })
 */
export class InProcessRunQueue implements RunQueue {
  readonly backend = 'in-process'
  readonly #store: SessionStore
  readonly #now: () => number
  #opening: Promise<OpenedQueue> | undefined
  #isClosed = false
  readonly #nodes = new LocalNodes()
  readonly #live = new Map<string, LiveEvent[]>()
  readonly #watchers = new RunWatchers()
  #order = 0

  constructor({ store, now = Date.now }: InProcessRunQueueOptions) {
    this.#store = store
    this.#now = now
  }

  async submit(submission: RunSubmission): Promise<SubmitOutcome> {
    const opened = await this.#open()
    const known = opened.state.runs.get(submission.runId)
    if (known !== undefined) {
      if (known.digest !== submission.digest || known.tenantId !== submission.tenantId)
        return { outcome: 'conflict' }
      // The first submission may not be written to disk yet.
      await opened.log.write([])
      return { outcome: 'known', run: shown(known) }
    }
    const now = this.#now()
    const run: StoredRun = {
      ...submission,
      state: 'queued',
      submittedAtMs: now,
      updatedAtMs: now,
      attempt: 0,
      takeovers: 0,
      position: 0,
      cancelRequested: false,
      order: ++this.#order,
      front: false,
      messages: [],
    }
    await this.#save(opened, run)
    const waitMs = (submission.notBeforeMs ?? 0) - now
    if (waitMs > 0) this.#nodes.wakeLater(waitMs)
    else this.#nodes.wakeAll('work')
    return { outcome: 'submitted', run: shown(run) }
  }

  async get(runId: string, scope: TenantScope = {}): Promise<QueuedRun | undefined> {
    const run = find(await this.#open(), runId, scope)
    return run && shown(run)
  }

  async list(filter: RunFilter = {}): Promise<RunPage> {
    const { sessionId, states, lane, limit = 100, cursor } = filter
    const { state } = await this.#open()
    const before = cursor === undefined ? Number.POSITIVE_INFINITY : Number(cursor)
    const found = [...state.runs.values()]
      .filter(
        (run) =>
          isVisible(run, filter) &&
          run.order < before &&
          (sessionId === undefined || run.sessionId === sessionId) &&
          (states === undefined || states.includes(run.state)) &&
          (lane === undefined || run.lane === lane),
      )
      .toSorted((a, b) => b.order - a.order)
    const runs = found.slice(0, limit)
    const last = runs.at(-1)
    const next = found.length > runs.length && last !== undefined ? String(last.order) : undefined
    return { runs: runs.map(shown), next }
  }

  async cancel(runId: string, scope: TenantScope = {}): Promise<CancelOutcome> {
    const opened = await this.#open()
    const run = find(opened, runId, scope)
    if (run === undefined) return 'unknown'
    if (!isOpenRun(run)) return 'ended'
    // A run with an attempt has started in the log of its session, and also ends there.
    if (run.state === 'queued' && run.attempt === 0) {
      await this.#save(opened, { ...run, state: 'cancelled', cancelRequested: true })
      return 'cancelled'
    }
    const requested = { ...run, cancelRequested: true }
    await this.#save(
      opened,
      run.state === 'waiting' ? { ...requested, state: 'queued', front: true } : requested,
    )
    if (run.state === 'active') this.#nodes.wake(run.nodeId, 'cancel')
    else this.#nodes.wakeAll('work')
    return 'requested'
  }

  async post(
    runId: string,
    message: RunMessage,
    { wakes = false, ...scope }: TenantScope & { readonly wakes?: boolean | undefined } = {},
  ): Promise<PostOutcome> {
    const opened = await this.#open()
    const run = find(opened, runId, scope)
    if (run === undefined || !isOpenRun(run)) return 'ended'
    const isNew = run.messages.every(({ id }) => id !== message.id)
    const posted = isNew ? { ...run, messages: [...run.messages, message] } : run
    const isWoken = wakes && run.state === 'waiting'
    await this.#save(opened, isWoken ? { ...posted, state: 'queued', front: true } : posted)
    if (isWoken) this.#nodes.wakeAll('work')
    else this.#nodes.wake(run.nodeId, 'messages')
    return isNew ? 'posted' : 'known'
  }

  async redrive(runId: string, scope: TenantScope = {}): Promise<boolean> {
    const opened = await this.#open()
    const run = find(opened, runId, scope)
    if (run === undefined || (run.state !== 'dead' && run.state !== 'failed')) return false
    await this.#save(opened, {
      ...run,
      state: 'queued',
      takeovers: 0,
      redrives: (run.redrives ?? 0) + 1,
      cancelRequested: false,
      error: undefined,
    })
    this.#nodes.wakeAll('work')
    return true
  }

  async live(runId: string, from: number, scope: TenantScope = {}): Promise<readonly LiveEvent[]> {
    if (find(await this.#open(), runId, scope) === undefined) return []
    return (this.#live.get(runId) ?? []).filter(({ sequence }) => sequence > from)
  }

  watch(runId: string, onChange: () => void): () => void {
    return this.#watchers.add(runId, onChange)
  }

  async count(name: string, add?: CounterAddition): Promise<CounterTotals> {
    const opened = await this.#open()
    return add === undefined ? totalsIn(opened.state, name) : addToCounter(opened, name, add, this.#now())
  }

  async reserve(name: string, add: CounterAddition, limits: CounterLimits): Promise<Reservation> {
    return reserveInCounter(await this.#open(), name, add, limits, this.#now())
  }

  async removeEnded(retention: RunRetention): Promise<number> {
    return removeEnded(await this.#open(), retention, this.#now())
  }

  async join(description: NodeDescription): Promise<QueueMember> {
    await this.#open()
    const member = this.#nodes.add(description, this.#now())
    return {
      nodeId: member.id,
      claim: (options) => this.#claim(member, options),
      mark: async (claim, mark) => this.#change(member, claim, (run) => ({ ...run, ...mark })),
      settle: (claim, settlement) => this.#settle(member, claim, settlement),
      inspect: async (claim) => {
        const run = held(await this.#open(), member, claim)
        return run && { cancelRequested: run.cancelRequested, messages: run.messages }
      },
      acknowledge: async (claim, ids) => {
        await this.#change(member, claim, (run) => ({
          ...run,
          messages: run.messages.filter(({ id }) => !ids.includes(id)),
        }))
      },
      publish: async (claim, events) => this.#publish(await this.#open(), member, claim, events),
      onWake: (listener) => {
        member.listeners.add(listener)
        return () => member.listeners.delete(listener)
      },
      leave: () => this.#leave(member),
    }
  }

  async drain(nodeId: string): Promise<boolean> {
    return this.#nodes.drain(nodeId)
  }

  async status(): Promise<ClusterStatus> {
    const { state } = await this.#open()
    return statusOf(state, this.#nodes.all(), this.#now())
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#nodes.clear()
    const opened = await this.#opening?.catch(() => undefined)
    await opened?.log.close()
  }

  #open(): Promise<OpenedQueue> {
    if (this.#isClosed) return Promise.reject(new Error('The queue of runs is closed.'))
    this.#opening ??= this.#start().catch((error: unknown) => {
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }

  async #start(): Promise<OpenedQueue> {
    const { log, state } = await QueueLog.open(this.#store, this.#now)
    const now = this.#now()
    for (const run of state.runs.values()) {
      this.#order = Math.max(this.#order, run.order)
      const times = { waiting: run.wakeAtMs, queued: run.notBeforeMs }
      const wakeAtMs = run.state === 'waiting' || run.state === 'queued' ? times[run.state] : undefined
      if (wakeAtMs !== undefined && wakeAtMs > now) this.#nodes.wakeLater(wakeAtMs - now)
    }
    const opened = { log, state }
    await this.#takeOver(opened, ({ state: one }) => one === 'active')
    return opened
  }

  /** Queues the active runs of a node that has ended. */
  async #takeOver(opened: OpenedQueue, isLost: (run: StoredRun) => boolean): Promise<void> {
    const lost = [...opened.state.runs.values()].filter(isLost)
    if (lost.length === 0) return
    opened.state.takeovers += lost.length
    await this.#save(
      opened,
      ...lost.map(
        (run): StoredRun => ({
          ...run,
          state: 'queued',
          front: true,
          nodeId: undefined,
          takeovers: run.takeovers + 1,
        }),
      ),
    )
    await opened.log.writeTotals(opened.state)
  }

  async #claim(member: LocalNode, options: ClaimOptions): Promise<readonly RunClaim[]> {
    const opened = await this.#open()
    if (!this.#nodes.has(member) || member.isDraining) return []
    const now = this.#now()
    const woken = [...opened.state.runs.values()].filter(
      ({ state, wakeAtMs }) => state === 'waiting' && wakeAtMs !== undefined && wakeAtMs <= now,
    )
    if (woken.length > 0)
      await this.#save(opened, ...woken.map((run): StoredRun => ({ ...run, state: 'queued', front: true })))
    const claimed = claimable(opened.state.runs.values(), options, now).map(
      (run): StoredRun => ({
        ...run,
        state: 'active',
        attempt: run.attempt + 1,
        nodeId: member.id,
        front: false,
        updatedAtMs: now,
      }),
    )
    if (claimed.length > 0) await this.#save(opened, ...claimed)
    return claimed.map((run) => ({ run: shown(run), attempt: run.attempt }))
  }

  async #settle(
    member: LocalNode,
    claim: RunClaim,
    { state, error, wakeAtMs }: Settlement,
  ): Promise<boolean> {
    const isSettled = await this.#change(member, claim, (run) => {
      const isAnswered = state === 'waiting' && (run.messages.length > 0 || run.cancelRequested)
      const after = isAnswered ? 'queued' : state
      const isOver = after !== 'queued' && after !== 'waiting'
      return {
        ...run,
        state: after,
        front: after === 'queued',
        nodeId: undefined,
        error,
        wakeAtMs: after === 'waiting' ? wakeAtMs : undefined,
        messages: isOver ? [] : run.messages,
      }
    })
    if (!isSettled) return false
    const { runId } = claim.run
    // A later reader finds all events in the log of the session.
    if (state !== 'queued') this.#live.delete(runId)
    if (wakeAtMs !== undefined) this.#nodes.wakeLater(wakeAtMs - this.#now())
    this.#nodes.wakeAll('work')
    return true
  }

  async #change(member: LocalNode, claim: RunClaim, change: (run: StoredRun) => StoredRun): Promise<boolean> {
    const opened = await this.#open()
    const run = held(opened, member, claim)
    if (run === undefined) return false
    await this.#save(opened, change(run))
    return true
  }

  #publish(opened: OpenedQueue, member: LocalNode, claim: RunClaim, events: readonly LiveEvent[]): void {
    if (held(opened, member, claim) === undefined) return
    const { runId } = claim.run
    const live = this.#live.get(runId) ?? []
    this.#live.set(runId, live)
    live.push(...events)
    if (live.length > maxLiveEvents * 1.25) live.splice(0, live.length - maxLiveEvents)
    this.#watchers.notify(runId)
  }

  async #leave(member: LocalNode): Promise<void> {
    if (!this.#nodes.remove(member)) return
    await this.#takeOver(await this.#open(), ({ nodeId }) => nodeId === member.id)
    this.#nodes.wakeAll('work')
  }

  /** Changes the state synchronously, so that no other call sees the old one. Resolves when the log has it. */
  async #save({ state, log }: OpenedQueue, ...runs: readonly StoredRun[]): Promise<void> {
    const updatedAtMs = this.#now()
    const changed = runs.map((run) => ({ ...run, updatedAtMs }))
    for (const run of changed) state.runs.set(run.runId, run)
    await log.write(changed)
    for (const { runId } of changed) this.#watchers.notify(runId)
  }
}

function find({ state }: OpenedQueue, runId: string, scope: TenantScope): StoredRun | undefined {
  const run = state.runs.get(runId)
  return run !== undefined && isVisible(run, scope) ? run : undefined
}

/** Returns the run of a claim while the claim is valid. */
function held({ state }: OpenedQueue, member: LocalNode, { run, attempt }: RunClaim): StoredRun | undefined {
  const known = state.runs.get(run.runId)
  const isHeld = known?.state === 'active' && known.attempt === attempt && known.nodeId === member.id
  return isHeld ? known : undefined
}

function isVisible(run: QueuedRun, { tenantId }: TenantScope): boolean {
  return tenantId === undefined || run.tenantId === tenantId
}

/** Removes the fields that only this implementation needs. */
function shown({ order: _, front: __, messages: ___, wakeAtMs: ____, ...run }: StoredRun): QueuedRun {
  return run
}
