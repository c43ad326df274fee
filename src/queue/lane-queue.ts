import { AsyncLocalStorage } from 'node:async_hooks'
import type { QueueEvent } from '../loop/events.js'
import { onAbort, pause } from '../loop/on-abort.js'
import type { Envelope } from '../tool/envelope.js'
import { parseJsonText } from '../tool/json-text.js'
import { type Lane, laneNames } from '../tool/lane.js'
import { DepthAlerts } from './alerts.js'
import type { QueueSettings } from './config.js'
import { type DeadLetter, DeadLetters } from './dead-letters.js'
import { cancelled, changedSince, type Ended, endedBy, type Failed, gotNoAnswer, noAnswer } from './ended.js'
import type { Completion, ExternalTask, QueueEngine, Room, TaskEnding } from './engine.js'
import { QueueError } from './errors.js'
import type { LaneHandler } from './lane.js'
import { type CallCounter, LaneMetrics, type QueueMetrics } from './metrics.js'
import { digestOf, type QueueLog, savedArgs } from './queue-log.js'
import type { RestoredTask, RestoredTasks } from './restored-tasks.js'
import { LocalBoard } from './task-board.js'

/** One call in a lane. */
export type QueuedCall = {
  readonly toolName: string
  /** The model's id of the call, if a later process can make the call again. */
  readonly callId?: string | undefined
  /** The arguments as JSON text. */
  readonly args: string
  readonly lane: Lane
  readonly idempotent: boolean
  /** Whether the call must run in this process, because it needs something that only this process has. */
  readonly staysHere?: boolean
  readonly priority?: number
  readonly signal?: AbortSignal | undefined
  /** Called each time before a worker can start; if it throws, the work does not start. */
  starting(): void | Promise<void>
}
/** Runs the call in this process, within `timeoutMs` milliseconds if given. */
export type RunHere = (timeoutMs?: number) => Promise<Envelope>

/** How many calls are queued, active, and taken by workers. */
export type QueueStats = {
  readonly totalPending: number
  readonly totalActive: number
  readonly externalPending: number
  readonly lanes: {
    readonly [L in Lane]: {
      readonly pending: number
      readonly active: number
      readonly mode: LaneHandler['mode']
    }
  }
}

export type LaneQueueParts = {
  readonly sessionId: string
  readonly settings: QueueSettings
  readonly engine: QueueEngine
  /** Where dead letters and lane handlers are saved; absent without a session store. */
  readonly log?: QueueLog | undefined
  /** Whether the log also has the tasks of workers: an engine of the host saves its own. */
  readonly savesTasks?: boolean
  /** The tasks of an earlier process. */
  readonly restored?: RestoredTasks | undefined
  /** The highest number in an id of an earlier process. */
  readonly ids?: number | undefined
  /** Called when writing to the log fails and there is no call that could fail with it. */
  onError?(error: unknown): void
  emit(event: QueueEvent): void
  now(): number
}

const externalTimeoutMs = 60_000

/**
 * The lanes of a session. A call waits for a slot, then runs here or is offered to a worker. It is retried if it got
 * no answer and a retry is safe: because the tool is idempotent, or because the work never began. Every call ends
 * exactly once.
 */
export class LaneQueue {
  readonly engine: QueueEngine
  readonly #parts: LaneQueueParts
  readonly #handlers = new Map<Lane, LaneHandler>()
  readonly #metrics: LaneMetrics | undefined
  readonly #alerts: DepthAlerts | undefined
  readonly #letters: DeadLetters | undefined
  #count: number
  readonly #endings = new Set<Promise<void>>()

  constructor(parts: LaneQueueParts) {
    const { settings } = parts
    this.#parts = parts
    this.engine = parts.engine
    for (const lane of laneNames) this.#handlers.set(lane, settings.lanes[lane].handler)
    this.#metrics = settings.metrics ? new LaneMetrics() : undefined
    this.#alerts = settings.alertDepth === undefined ? undefined : new DepthAlerts(settings.alertDepth)
    this.#letters = settings.deadLetters === 0 ? undefined : new DeadLetters(settings.deadLetters)
    this.#count = parts.ids ?? 0
  }

  /**
   * Continues the tasks whose caller ended with an earlier process. `offers`: workers can claim those that never
   * began.
   */
  continueOrphans(offers: boolean): void {
    for (const restored of this.#parts.restored?.orphans ?? []) {
      const ending = this.#continueOrphan(restored, offers)
        .catch((error: unknown) => this.#parts.onError?.(error))
        .finally(() => this.#endings.delete(ending))
      this.#endings.add(ending)
    }
  }

  /** The tools that do not use the lane of their kind. */
  get toolLanes(): ReadonlyMap<string, Lane> {
    return this.#parts.settings.toolLanes
  }

  /** Sets the handler of a lane, from the next call on. */
  setHandler(lane: Lane, handler: LaneHandler): void {
    this.#handlers.set(lane, handler)
  }

  async pass(call: QueuedCall, here: RunHere): Promise<Envelope> {
    const restored = call.callId === undefined ? undefined : this.#parts.restored?.take(call.callId)
    this.#tally('submitted', call.lane)
    if (restored === undefined) return this.#attempts(call, this.#wayOf(call), { attempt: 1 }, here)
    const { task, began } = restored
    const way: Way = { ...this.#wayOf(call), id: task.taskId, announced: true, saved: true }
    const { attempt } = task
    if (differs(call, restored)) {
      this.#withdraw(task)
      return this.#end(call, way, attempt, changedSince(call.toolName, began))
    }
    if (began) return this.#attempts(call, way, { attempt, ending: restored.ending }, here)
    if (way.mode !== 'external') {
      this.#withdraw(task)
      // It runs in this process now: for a later process it is an ordinary call.
      await this.#parts.log?.ended(way.id)
    }
    return this.#attempts(call, way, { attempt }, here)
  }

  /** `first.ending`: an earlier process made the first attempt, and this is its outcome. */
  async #attempts(
    call: QueuedCall,
    way: Way,
    first: { readonly attempt: number; readonly ending?: Promise<TaskEnding> },
    here: RunHere,
  ): Promise<Envelope> {
    const { retry } = this.#parts.settings
    const { lane } = call
    let { ending } = first
    for (let attempt = first.attempt; ; attempt++) {
      const made =
        ending === undefined ? this.#attempt(call, way, attempt, here) : this.#join(call, way, ending)
      ending = undefined
      const ended = await made.catch(async (error: unknown) => {
        await this.#refuse(call, way)
        throw error
      })
      if (ended.how !== 'failed' || !ended.mayRetry || attempt > retry.maxRetries || call.signal?.aborted)
        return this.#end(call, way, attempt, ended)
      const delayMs = Math.min(retry.maxDelayMs, retry.firstDelayMs * retry.growth ** (attempt - 1))
      this.#tally('retried', lane)
      this.#parts.emit({ type: 'command_retry', ...commandOf(call, way), attempt, delayMs })
      await pause(delayMs, call.signal)
    }
  }

  /** Completes a task; false if no task with this id waits for a result. */
  async complete(taskId: string, completion: Completion): Promise<boolean> {
    return (await this.engine.board.complete(taskId, undefined, completion)) === 'accepted'
  }

  async stats(): Promise<QueueStats> {
    const of = (lane: Lane): QueueStats['lanes'][Lane] => {
      const { waiting, active } = this.engine.depth(lane)
      return { pending: waiting, active, mode: this.#handlerOf(lane).mode }
    }
    const lanes = {
      control: of('control'),
      query: of('query'),
      execute: of('execute'),
      generate: of('generate'),
    }
    const sum = (what: 'pending' | 'active'): number =>
      laneNames.reduce((total, lane) => total + lanes[lane][what], 0)
    const externalPending = (await this.engine.board.pending()).length
    return { totalPending: sum('pending'), totalActive: sum('active'), externalPending, lanes }
  }

  /** Null if metrics are disabled. */
  async metrics(): Promise<QueueMetrics | null> {
    if (this.#metrics === undefined) return null
    const pending = await this.engine.board.pending()
    return this.#metrics.figures((lane) => this.engine.depth(lane), pending.length)
  }

  /** Undefined if dead letters are disabled. */
  get deadLetters(): DeadLetters | undefined {
    return this.#letters
  }

  async close(): Promise<void> {
    await this.engine.close()
    await Promise.all(this.#endings)
  }

  /** Waits for a worker that started during an earlier process. */
  async #join(call: QueuedCall, way: Way, ending: Promise<TaskEnding>): Promise<Ended> {
    const { signal } = call
    way.endsAt = performance.now() + way.timeoutMs
    if (signal?.aborted) this.#withdraw({ taskId: way.id })
    const undo = signal && onAbort(signal, () => this.#withdraw({ taskId: way.id }))
    try {
      return endedBy(call, way.timeoutMs, await ending)
    } finally {
      undo?.()
    }
  }

  #withdraw({ taskId }: Pick<ExternalTask, 'taskId'>): void {
    const { board } = this.engine
    if (board instanceof LocalBoard) board.withdraw(taskId)
  }

  async #continueOrphan(restored: RestoredTask, offers: boolean): Promise<void> {
    const { task, args, began } = restored
    const { taskId, commandType, lane, idempotent, timeoutMs, attempt } = task
    const call: QueuedCall = {
      toolName: commandType,
      args: args ?? 'null',
      lane,
      idempotent,
      starting: () => undefined,
    }
    const way: Way = {
      id: taskId,
      mode: 'external',
      timeoutMs,
      announced: true,
      saved: true,
      orphan: { args },
    }
    this.#tally('submitted', lane)
    if (offers && !began && args !== undefined) {
      // The mode is external, so the call never runs here.
      await this.#attempts(call, way, { attempt }, () =>
        Promise.reject(new QueueError('queue_refused', taskId)),
      )
      return
    }
    const ending = await restored.ending
    await this.#end(call, way, attempt, endedBy(call, timeoutMs, ending))
  }

  #handlerOf(lane: Lane): LaneHandler {
    return this.#handlers.get(lane) ?? { mode: 'internal' }
  }

  #wayOf({ lane, staysHere }: QueuedCall): Way {
    const { mode, timeoutMs = externalTimeoutMs } = this.#handlerOf(lane)
    const id = `${this.#parts.sessionId}-${++this.#count}`
    return { id, mode: staysHere ? 'internal' : mode, timeoutMs, announced: false }
  }

  async #attempt(call: QueuedCall, way: Way, attempt: number, here: RunHere): Promise<Ended> {
    const asked = performance.now()
    const room = await this.#enter(call)
    if (room === undefined) return cancelled(call.toolName, attempt > 1)
    const began = performance.now()
    this.#metrics?.time('wait_ms', call.lane, began - asked)
    try {
      if (way.mode === 'external') return await this.#handOut(call, way, attempt)
      return await this.#runHere(call, way, here)
    } finally {
      room.leave()
      this.#metrics?.time('duration_ms', call.lane, performance.now() - began)
    }
  }

  /**
   * A nested call uses the slot of the outer one: if it waited for its own, each could wait for the other forever.
   */
  #enter({ lane, priority = laneNames.indexOf(lane), signal }: QueuedCall): Promise<Room | undefined> {
    if (holding.getStore() === true) return Promise.resolve(insideAnother)
    const entering = this.engine.enter({ lane, priority, signal })
    const alert = this.#alerts?.see(lane, this.engine.depth(lane).waiting)
    if (alert !== undefined) this.#parts.emit({ type: 'queue_alert', ...alert })
    return entering
  }

  async #runHere(call: QueuedCall, way: Way, here: RunHere): Promise<Ended> {
    if (way.mode === 'hybrid') this.#tellPending(this.#taskOf(call, way, 1), way)
    const { timeoutMs } = this.#parts.settings.lanes[call.lane]
    const envelope = await holding.run(true, here, timeoutMs)
    if (call.signal?.aborted) return { how: 'cancelled', envelope }
    return gotNoAnswer(envelope) ? noAnswer(envelope, call.idempotent) : { how: 'answered', envelope }
  }

  async #handOut(call: QueuedCall, way: Way, attempt: number): Promise<Ended> {
    const { signal } = call
    const task = this.#taskOf(call, way, attempt)
    // The task is saved first: a call that has started and has no task counts as interrupted.
    if (this.#parts.savesTasks === true) {
      way.saved = true
      await this.#parts.log?.offered(task, call.args, call.callId)
    }
    await call.starting()
    way.endsAt ??= performance.now() + way.timeoutMs
    this.#tellPending(task, way)
    const timeoutMs = Math.max(1, way.endsAt - performance.now())
    const ending = await this.engine.board.offer(task, { timeoutMs, signal })
    return endedBy(call, way.timeoutMs, ending)
  }

  #taskOf({ toolName, args, lane, idempotent }: QueuedCall, way: Way, attempt: number): ExternalTask {
    return {
      taskId: way.id,
      sessionId: this.#parts.sessionId,
      lane,
      commandType: toolName,
      payload: parseJsonText(args),
      timeoutMs: way.timeoutMs,
      attempt,
      idempotent,
    }
  }

  #tellPending({ taskId, sessionId, lane, commandType, payload, timeoutMs }: ExternalTask, way: Way): void {
    way.announced = true
    this.#parts.emit({
      type: 'external_task_pending',
      taskId,
      sessionId,
      lane,
      commandType,
      payload,
      timeoutMs,
    })
  }

  async #end(call: QueuedCall, way: Way, attempts: number, ended: Ended): Promise<Envelope> {
    const { sessionId, emit } = this.#parts
    if (way.announced)
      emit({ type: 'external_task_completed', taskId: way.id, sessionId, success: ended.how === 'answered' })
    if (ended.how === 'answered') this.#tally('completed', call.lane)
    if (ended.how === 'cancelled') this.#tally('cancelled', call.lane)
    if (ended.how === 'failed') {
      this.#tally('failed', call.lane)
      await this.#bury(call, way, attempts, ended)
    }
    // The result of a model's call is in the log, which also marks its task as ended.
    if (way.saved !== true || call.callId !== undefined) return ended.envelope
    // The queue was closed first: a later process continues the task.
    if (way.orphan === undefined || ended.how !== 'cancelled') await this.#parts.log?.ended(way.id)
    return ended.envelope
  }

  /** Ends a call that was refused or failed before it started. A later process would offer its task to workers. */
  async #refuse({ lane, callId }: QueuedCall, way: Way): Promise<void> {
    const { sessionId, emit, log, onError } = this.#parts
    this.#tally('failed', lane)
    if (way.announced) emit({ type: 'external_task_completed', taskId: way.id, sessionId, success: false })
    if (way.saved === true && callId === undefined && way.orphan === undefined)
      await log?.ended(way.id).catch((error: unknown) => onError?.(error))
  }

  async #bury(call: QueuedCall, way: Way, attempts: number, { error, mayHaveRun }: Failed): Promise<void> {
    const { log } = this.#parts
    if (this.#letters === undefined) return
    const command = commandOf(call, way)
    const { args } = way.orphan ?? call
    const letter: DeadLetter = {
      ...command,
      payload: savedArgs(args),
      error,
      attempts,
      failedAt: this.#parts.now(),
      mayHaveRun: mayHaveRun && !call.idempotent,
    }
    await log?.buried(letter, args)
    const dropped = this.#letters.add(letter)
    if (dropped !== undefined) await log?.removed(dropped)
    this.#tally('dead_lettered', call.lane)
    this.#parts.emit({ type: 'command_dead_lettered', ...command, error, attempts })
    if (dropped !== undefined && this.#alerts !== undefined)
      this.#parts.emit({
        type: 'queue_alert',
        level: 'warning',
        alertType: 'dead_letters_full',
        lane: call.lane,
        message: `There are more than ${this.#parts.settings.deadLetters} dead letters: the oldest was dropped.`,
      })
  }

  #tally(what: CallCounter, lane: Lane): void {
    this.#metrics?.count(what, lane)
  }
}

/** How a call is executed, and what was reported about it so far. */
type Way = {
  readonly id: string
  readonly mode: LaneHandler['mode']
  readonly timeoutMs: number
  announced: boolean
  /** Whether the task is in the log. */
  saved?: boolean
  /** Set if the caller ended with an earlier process; contains the arguments, if the log has them. */
  readonly orphan?: { readonly args: string | undefined }
  /** When the time limit for workers ends, over all attempts. */
  endsAt?: number
}
/** Set inside calls that hold a slot. */
const holding = new AsyncLocalStorage<true>()
const insideAnother: Room = { leave: () => undefined }

/** Whether a call that is made again differs from the one that workers were offered. */
function differs({ toolName, args }: QueuedCall, { task, argsDigest }: RestoredTask): boolean {
  return task.commandType !== toolName || argsDigest !== digestOf(args)
}

type Command = { readonly commandId: string; readonly commandType: string; readonly lane: Lane }

function commandOf({ toolName, lane }: QueuedCall, { id }: Way): Command {
  return { commandId: id, commandType: toolName, lane }
}
