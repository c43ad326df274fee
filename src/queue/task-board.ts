import { onAbort } from '../loop/on-abort.js'
import type {
  ClaimedTask,
  ClaimRequest,
  Completion,
  CompletionAnswer,
  ExternalTask,
  Lease,
  OfferLimits,
  TaskBoard,
  TaskEnding,
} from './engine.js'

export type LocalBoardOptions = {
  readonly leaseMs: number
  /** Written to before a worker gets its answer. */
  readonly log?: TaskLog | undefined
  newId(): string
}

/** Saves what a later process must know about tasks. Each method resolves when the entry is written. */
export type TaskLog = {
  /** Called before a worker can begin. */
  begun(taskId: string, lease: BoardLease): Promise<void>
  completed(taskId: string, leaseId: string | undefined, completion: Completion): Promise<void>
}
type BoardLease = { readonly id: string; readonly worker: string }

/**
 * How a task of an earlier process is restored: no worker can claim it, and it is not listed, because the gate of
 * this process has not judged its call. Only the result of a worker that had begun is accepted.
 */
export type HeldOffer = { readonly lease: BoardLease | undefined; readonly began: boolean }

/** How many ended tasks are remembered, so that a worker that reports a result twice gets the same answer. */
const remembered = 1_000
const maxTimerMs = 2 ** 31 - 1

/**
 * The tasks of this process. Leases are timed by timers only, so that a change of the system clock does not end them.
 */
export class LocalBoard implements TaskBoard {
  readonly #options: LocalBoardOptions
  /** In the order of their offers. */
  readonly #open = new Map<string, Offer>()
  readonly #ready = new Set<Offer>()
  readonly #waiting = new Set<Waiter>()
  /** The lease under which each task was completed. */
  readonly #ended = new Map<string, string>()
  /** Tasks whose result is being written. The promises never reject. */
  readonly #completing = new Map<string, Promise<void>>()

  #isClosed = false

  constructor(options: LocalBoardOptions) {
    this.#options = options
  }

  offer(task: ExternalTask, { timeoutMs, signal }: OfferLimits, held?: HeldOffer): Promise<TaskEnding> {
    return new Promise((resolve) => {
      if (signal?.aborted || this.#isClosed) return resolve({ how: 'aborted', began: false })
      // Replaces a restored task of an earlier process by this offer.
      this.withdraw(task.taskId)
      let undo: () => void = () => undefined
      const offer: Offer = {
        task,
        isHeld: held !== undefined,
        began: held?.began ?? false,
        close: () => {
          clearTimeout(timer)
          clearTimeout(offer.lease?.timer)
          undo()
          this.#open.delete(task.taskId)
          this.#ready.delete(offer)
        },
        end: (ending) => {
          offer.close()
          resolve(ending)
        },
      }
      const timer = setTimeout(
        () => offer.end({ how: 'timeout', began: offer.began }),
        Math.min(timeoutMs, maxTimerMs),
      )
      if (signal !== undefined)
        undo = onAbort(signal, () => offer.end({ how: 'aborted', began: offer.began }))
      this.#open.set(task.taskId, offer)
      if (held === undefined) {
        this.#ready.add(offer)
        this.#serve(offer)
      } else if (held.lease !== undefined) {
        offer.lease = { ...held.lease }
        this.#watch(offer)
      }
    })
  }

  claim(request: ClaimRequest): Promise<readonly ClaimedTask[]> {
    const { max, waitMs, signal } = request
    if (signal?.aborted) return Promise.resolve([])
    const taken: Offer[] = []
    for (const offer of this.#ready) {
      if (taken.length >= max) break
      if (suits(request, offer.task)) taken.push(offer)
    }
    if (taken.length > 0 || waitMs <= 0 || max < 1) return this.#lease(taken, request)
    return new Promise((resolve) => {
      let undo: () => void = () => undefined
      const waiter: Waiter = {
        request,
        give: (offers) => {
          clearTimeout(timer)
          undo()
          this.#waiting.delete(waiter)
          resolve(this.#lease(offers, request))
        },
      }
      const timer = setTimeout(() => waiter.give([]), Math.min(waitMs, maxTimerMs))
      if (signal !== undefined) undo = onAbort(signal, () => waiter.give([]))
      this.#waiting.add(waiter)
    })
  }

  async start(taskId: string, leaseId: string): Promise<boolean> {
    const offer = this.#held(taskId, leaseId)
    if (offer === undefined) return false
    offer.began = true
    this.#watch(offer)
    const { log } = this.#options
    if (log === undefined || offer.lease === undefined) return true
    await log.begun(taskId, offer.lease)
    return this.#held(taskId, leaseId) === offer
  }

  async renew(leases: readonly Lease[]): Promise<readonly string[]> {
    return leases.flatMap(({ taskId, leaseId }) => {
      const offer = this.#held(taskId, leaseId)
      if (offer === undefined) return [taskId]
      this.#watch(offer)
      return []
    })
  }

  async complete(
    taskId: string,
    leaseId: string | undefined,
    completion: Completion,
  ): Promise<CompletionAnswer> {
    const offer = this.#open.get(taskId)
    if (offer === undefined) {
      // A result counts as accepted only when it is written.
      await this.#completing.get(taskId)
      return leaseId !== undefined && this.#ended.get(taskId) === leaseId ? 'duplicate' : 'gone'
    }
    if (leaseId !== undefined && offer.lease?.id !== leaseId) return 'late'
    // The call is made again once the gate has judged it: a result before that would be a second one.
    if (offer.isHeld && !offer.began) return 'gone'
    await this.#save(offer, leaseId, completion)
    if (leaseId !== undefined) this.remember(taskId, leaseId)
    offer.end({ how: 'completed', completion })
    return 'accepted'
  }

  /** Writes the result. The offer is closed first, so that nothing else can end the task meanwhile. */
  async #save(offer: Offer, leaseId: string | undefined, completion: Completion): Promise<void> {
    const { log } = this.#options
    if (log === undefined) return
    const { taskId } = offer.task
    offer.close()
    const written = log.completed(taskId, leaseId, completion)
    const settled = written.then(
      () => undefined,
      () => undefined,
    )
    this.#completing.set(taskId, settled)
    try {
      await written
    } catch (error) {
      offer.end({ how: 'lost', began: true })
      throw error
    } finally {
      this.#completing.delete(taskId)
    }
  }

  async release(taskId: string, leaseId: string): Promise<boolean> {
    const offer = this.#held(taskId, leaseId)
    if (offer === undefined || offer.began) return false
    offer.end({ how: 'released', began: false })
    return true
  }

  /** Withdraws a task in any state. */
  withdraw(taskId: string): void {
    const offer = this.#open.get(taskId)
    offer?.end({ how: 'aborted', began: offer.began })
  }

  async abandon(worker: string): Promise<void> {
    for (const offer of [...this.#open.values()])
      if (offer.lease?.worker === worker) offer.end({ how: 'lost', began: offer.began })
  }

  async pending(): Promise<readonly ExternalTask[]> {
    return this.list()
  }

  list(): readonly ExternalTask[] {
    return [...this.#open.values()].flatMap(({ task, isHeld }) => (isHeld ? [] : [task]))
  }

  /**
   * Ends all offers, also those that come later: a task can be written to the log while the board is being closed.
   */
  close(): void {
    this.#isClosed = true
    for (const waiter of [...this.#waiting]) waiter.give([])
    for (const offer of [...this.#open.values()]) offer.end({ how: 'aborted', began: offer.began })
  }

  #serve(offer: Offer): void {
    const waiter = [...this.#waiting].find(({ request }) => suits(request, offer.task))
    waiter?.give([offer])
  }

  /** Leases tasks to a worker. */
  async #lease(
    offers: readonly Offer[],
    { worker, announcesStart }: ClaimRequest,
  ): Promise<readonly ClaimedTask[]> {
    const { leaseMs, newId, log } = this.#options
    const leased = offers.map((offer) => {
      const lease = { id: newId(), worker }
      offer.lease = { ...lease }
      // A worker that does not announce its start must be assumed to have begun.
      offer.began = announcesStart !== true
      this.#ready.delete(offer)
      this.#watch(offer)
      return { offer, lease, claimed: { ...offer.task, leaseId: lease.id, leaseMs } }
    })
    if (log === undefined || announcesStart === true) return leased.map(({ claimed }) => claimed)
    await Promise.all(leased.map(({ offer, lease }) => log.begun(offer.task.taskId, lease)))
    return leased.flatMap(({ claimed }) =>
      this.#held(claimed.taskId, claimed.leaseId) === undefined ? [] : [claimed],
    )
  }

  /** Restarts the lease timer: the worker can be silent for one lease from now on. */
  #watch(offer: Offer): void {
    const { lease } = offer
    if (lease === undefined) return
    clearTimeout(lease.timer)
    const { leaseMs } = this.#options
    const end = (): void => offer.end({ how: 'lost', began: offer.began })
    // Two timers: if this process was blocked, requests that workers sent meanwhile are read before the lease ends.
    lease.timer = setTimeout(() => {
      lease.timer = setTimeout(end, leaseMs / 4)
    }, leaseMs * 0.75)
  }

  #held(taskId: string, leaseId: string): Offer | undefined {
    const offer = this.#open.get(taskId)
    return offer?.lease?.id === leaseId ? offer : undefined
  }

  /** Remembers the lease under which a task was completed, here or in an earlier process. */
  remember(taskId: string, leaseId: string): void {
    this.#ended.set(taskId, leaseId)
    for (const oldest of this.#ended.keys()) {
      if (this.#ended.size <= remembered) return
      this.#ended.delete(oldest)
    }
  }
}

type Offer = {
  readonly task: ExternalTask
  readonly isHeld: boolean
  began: boolean
  lease?: BoardLease & { timer?: ReturnType<typeof setTimeout> }
  /** Closes the offer: it can no longer be claimed or ended. */
  close(): void
  end(ending: TaskEnding): void
}
type Waiter = {
  readonly request: ClaimRequest
  give(offers: readonly Offer[]): void
}

function suits({ lanes, tools }: ClaimRequest, { lane, commandType }: ExternalTask): boolean {
  return (lanes?.includes(lane) ?? true) && (tools?.includes(commandType) ?? true)
}
