import { randomUUID } from 'node:crypto'
import type { SessionStore } from '../store/session-store.js'
import { claimable } from './claimable.js'
import { isPastPeriod } from './counter-period.js'
import { QueueLog, type QueueState, type StoredRun } from './queue-log.js'
import type {
  CancelOutcome,
  ClaimOptions,
  ClusterStatus,
  CounterAddition,
  CounterLimits,
  CounterTotals,
  LaneStatus,
  LiveEvent,
  NodeDescription,
  PostOutcome,
  QueuedRun,
  QueuedRunState,
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
  WakeReason,
} from './run-queue.js'
import { isOpenRun, isReached, minRetentionMs } from './run-queue.js'

/** The options of {@link InProcessRunQueue}. */
export type InProcessRunQueueOptions = {
  /** Where the queue is stored: a log of its own, next to the sessions. */
  readonly store: SessionStore
  readonly now?: (() => number) | undefined
}

type Member = {
  readonly id: string
  readonly description: NodeDescription
  readonly startedAtMs: number
  readonly listeners: Set<(reason: WakeReason) => void>
  isDraining: boolean
}

/** How many of the last events of an active run are in memory for readers; earlier ones are in its session log. */
const maxLiveEvents = 10_000
/** How long the ids of additions to counters are remembered. */
const rememberedMs = 10 * 60_000

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
  #opening: Promise<Opened> | undefined
  #isClosed = false
  readonly #members = new Map<string, Member>()
  readonly #live = new Map<string, LiveEvent[]>()
  readonly #watchers = new Map<string, Set<() => void>>()
  readonly #timers = new Set<NodeJS.Timeout>()
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
      // The first submission may still be on its way to the disk.
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
    if (waitMs > 0) this.#wakeLater(waitMs)
    else this.#wakeAll('work')
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
    // A run with an attempt has begun in the log of its session, and ends there too.
    if (run.state === 'queued' && run.attempt === 0) {
      await this.#save(opened, { ...run, state: 'cancelled', cancelRequested: true })
      return 'cancelled'
    }
    const requested = { ...run, cancelRequested: true }
    await this.#save(
      opened,
      run.state === 'waiting' ? { ...requested, state: 'queued', front: true } : requested,
    )
    if (run.state === 'active') this.#wakeNode(run.nodeId, 'cancel')
    else this.#wakeAll('work')
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
    if (isWoken) this.#wakeAll('work')
    else this.#wakeNode(run.nodeId, 'messages')
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
    this.#wakeAll('work')
    return true
  }

  async live(runId: string, from: number, scope: TenantScope = {}): Promise<readonly LiveEvent[]> {
    if (find(await this.#open(), runId, scope) === undefined) return []
    return (this.#live.get(runId) ?? []).filter(({ sequence }) => sequence > from)
  }

  watch(runId: string, onChange: () => void): () => void {
    const watchers = this.#watchers.get(runId) ?? new Set()
    this.#watchers.set(runId, watchers)
    watchers.add(onChange)
    return () => {
      watchers.delete(onChange)
      if (watchers.size === 0 && this.#watchers.get(runId) === watchers) this.#watchers.delete(runId)
    }
  }

  async count(name: string, add?: CounterAddition): Promise<CounterTotals> {
    const opened = await this.#open()
    if (add !== undefined) return this.#add(opened, name, add)
    return totalsOf(opened, name)
  }

  async reserve(name: string, add: CounterAddition, limits: CounterLimits): Promise<Reservation> {
    const opened = await this.#open()
    const totals = totalsOf(opened, name)
    const isKnown = opened.state.additions.has(add.id)
    if (!isKnown && isReached(totals, limits)) return { isReserved: false, totals }
    // It changes the totals at once: nothing else runs between the look and the addition.
    return { isReserved: true, totals: await this.#add(opened, name, add) }
  }

  async #add({ state, log }: Opened, name: string, add: CounterAddition): Promise<CounterTotals> {
    const before = totalsOf({ state }, name)
    const now = this.#now()
    for (const [id, atMs] of state.additions)
      if (atMs < now - rememberedMs) state.additions.delete(id)
      else break
    if (state.additions.has(add.id)) {
      // The first one may still be on its way to the disk.
      await log.write([])
      return totalsOf({ state }, name)
    }
    const totals = { tokens: before.tokens + add.tokens, costUsd: before.costUsd + add.costUsd }
    state.additions.set(add.id, now)
    state.counters.set(name, totals)
    await log.writeTotals(state)
    return totals
  }

  async removeEnded({ maxAgeMs, maxRuns }: RunRetention): Promise<number> {
    const opened = await this.#open()
    const now = this.#now()
    const old = [...opened.state.runs.values()]
      .filter((run) => !isOpenRun(run) && run.updatedAtMs < now - minRetentionMs)
      .toSorted((a, b) => b.updatedAtMs - a.updatedAtMs)
    const recent = [...opened.state.runs.values()].filter(
      (run) => !isOpenRun(run) && run.state !== 'dead' && run.updatedAtMs >= now - minRetentionMs,
    ).length
    let left = Math.max(0, maxRuns - recent)
    const removed = old.filter(
      ({ state, updatedAtMs }) => updatedAtMs < now - maxAgeMs || (state !== 'dead' && --left < 0),
    )
    for (const { runId } of removed) opened.state.runs.delete(runId)
    for (const name of opened.state.counters.keys())
      if (isPastPeriod(name, now)) opened.state.counters.delete(name)
    await opened.log.remove(removed)
    return removed.length
  }

  async join(description: NodeDescription): Promise<QueueMember> {
    await this.#open()
    const startedAtMs = this.#now()
    const member: Member = {
      id: randomUUID(),
      description,
      startedAtMs,
      listeners: new Set(),
      isDraining: false,
    }
    this.#members.set(member.id, member)
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
    const member = this.#members.get(nodeId)
    if (member === undefined) return false
    member.isDraining = true
    this.#wakeNode(nodeId, 'drain')
    return true
  }

  async status(): Promise<ClusterStatus> {
    const { state } = await this.#open()
    const runs = [...state.runs.values()]
    const now = this.#now()
    const count = (wanted: QueuedRunState): number => runs.filter((run) => run.state === wanted).length
    const activeOn = (id: string): number => runs.filter((run) => run.nodeId === id).length
    return {
      nodes: [...this.#members.values()].map(({ id, description, startedAtMs, isDraining }) => ({
        ...description,
        id,
        startedAtMs,
        seenAtMs: now,
        active: activeOn(id),
        isDraining,
      })),
      lanes: lanesOf(runs, now),
      waiting: count('waiting'),
      dead: count('dead'),
      ended: { completed: count('completed'), failed: count('failed'), cancelled: count('cancelled') },
      takeovers: state.takeovers,
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    for (const timer of this.#timers) clearTimeout(timer)
    this.#members.clear()
    const opened = await this.#opening?.catch(() => undefined)
    await opened?.log.close()
  }

  #open(): Promise<Opened> {
    if (this.#isClosed) return Promise.reject(new Error('The queue of runs is closed.'))
    this.#opening ??= this.#start().catch((error: unknown) => {
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }

  async #start(): Promise<Opened> {
    const { log, state } = await QueueLog.open(this.#store, this.#now)
    const now = this.#now()
    for (const run of state.runs.values()) {
      this.#order = Math.max(this.#order, run.order)
      const times = { waiting: run.wakeAtMs, queued: run.notBeforeMs }
      const wakeAtMs = run.state === 'waiting' || run.state === 'queued' ? times[run.state] : undefined
      if (wakeAtMs !== undefined && wakeAtMs > now) this.#wakeLater(wakeAtMs - now)
    }
    const opened = { log, state }
    await this.#takeOver(opened, ({ state: one }) => one === 'active')
    return opened
  }

  /** Queues the active runs of a node that has ended. */
  async #takeOver(opened: Opened, isLost: (run: StoredRun) => boolean): Promise<void> {
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

  async #claim(member: Member, options: ClaimOptions): Promise<readonly RunClaim[]> {
    const opened = await this.#open()
    if (!this.#members.has(member.id) || member.isDraining) return []
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

  async #settle(member: Member, claim: RunClaim, { state, error, wakeAtMs }: Settlement): Promise<boolean> {
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
    // A reader that comes later finds everything in the log of the session.
    if (state !== 'queued') this.#live.delete(runId)
    if (wakeAtMs !== undefined) this.#wakeLater(wakeAtMs - this.#now())
    this.#wakeAll('work')
    return true
  }

  async #change(member: Member, claim: RunClaim, change: (run: StoredRun) => StoredRun): Promise<boolean> {
    const opened = await this.#open()
    const run = held(opened, member, claim)
    if (run === undefined) return false
    await this.#save(opened, change(run))
    return true
  }

  #publish(opened: Opened, member: Member, claim: RunClaim, events: readonly LiveEvent[]): void {
    if (held(opened, member, claim) === undefined) return
    const { runId } = claim.run
    const live = this.#live.get(runId) ?? []
    this.#live.set(runId, live)
    live.push(...events)
    if (live.length > maxLiveEvents * 1.25) live.splice(0, live.length - maxLiveEvents)
    this.#changed(runId)
  }

  async #leave(member: Member): Promise<void> {
    if (!this.#members.delete(member.id)) return
    member.listeners.clear()
    await this.#takeOver(await this.#open(), ({ nodeId }) => nodeId === member.id)
    this.#wakeAll('work')
  }

  /** Changes the state at once, so that no other call sees the old one, and resolves when the log has it. */
  async #save({ state, log }: Opened, ...runs: readonly StoredRun[]): Promise<void> {
    const updatedAtMs = this.#now()
    const changed = runs.map((run) => ({ ...run, updatedAtMs }))
    for (const run of changed) state.runs.set(run.runId, run)
    await log.write(changed)
    for (const { runId } of changed) this.#changed(runId)
  }

  #changed(runId: string): void {
    for (const watcher of [...(this.#watchers.get(runId) ?? [])]) watcher()
  }

  #wakeAll(reason: WakeReason): void {
    for (const id of this.#members.keys()) this.#wakeNode(id, reason)
  }

  #wakeNode(nodeId: string | undefined, reason: WakeReason): void {
    const member = nodeId === undefined ? undefined : this.#members.get(nodeId)
    for (const listener of [...(member?.listeners ?? [])]) listener(reason)
  }

  #wakeLater(waitMs: number): void {
    const timer = setTimeout(
      () => {
        this.#timers.delete(timer)
        if (waitMs > maxTimerMs) this.#wakeLater(waitMs - maxTimerMs)
        else this.#wakeAll('work')
      },
      Math.min(waitMs, maxTimerMs),
    )
    // A process with a worker is kept alive by it.
    timer.unref()
    this.#timers.add(timer)
  }
}

const maxTimerMs = 2 ** 31 - 1

type Opened = { readonly log: QueueLog; readonly state: QueueState }

function find({ state }: Opened, runId: string, scope: TenantScope): StoredRun | undefined {
  const run = state.runs.get(runId)
  return run !== undefined && isVisible(run, scope) ? run : undefined
}

function totalsOf({ state }: Pick<Opened, 'state'>, name: string): CounterTotals {
  return state.counters.get(name) ?? { tokens: 0, costUsd: 0 }
}

/** The run of a claim, as long as the claim holds. */
function held({ state }: Opened, member: Member, { run, attempt }: RunClaim): StoredRun | undefined {
  const known = state.runs.get(run.runId)
  const isHeld = known?.state === 'active' && known.attempt === attempt && known.nodeId === member.id
  return isHeld ? known : undefined
}

function isVisible(run: QueuedRun, { tenantId }: TenantScope): boolean {
  return tenantId === undefined || run.tenantId === tenantId
}

/** Without what only this implementation needs. */
function shown({ order: _, front: __, messages: ___, wakeAtMs: ____, ...run }: StoredRun): QueuedRun {
  return run
}

function lanesOf(runs: readonly QueuedRun[], now: number): LaneStatus[] {
  const open = runs.filter(({ state }) => state === 'queued' || state === 'active')
  return [...new Set(open.map(({ lane }) => lane))].sort().map((lane) => {
    const own = open.filter((run) => run.lane === lane)
    const queued = own.filter(({ state }) => state === 'queued')
    const due = queued.flatMap(({ submittedAtMs, notBeforeMs = 0 }) =>
      notBeforeMs > now ? [] : [Math.max(submittedAtMs, notBeforeMs)],
    )
    return {
      lane,
      queued: queued.length,
      active: own.length - queued.length,
      oldestWaitMs: due.length === 0 ? 0 : Math.max(0, now - Math.min(...due)),
    }
  })
}
