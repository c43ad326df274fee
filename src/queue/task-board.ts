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
  newId(): string
}

/** How many tasks that have ended are remembered, so that a worker that says it twice gets the same answer twice. */
const remembered = 1_000
const maxTimerMs = 2 ** 31 - 1

/** Tasks of this process. Time is counted by timers alone: a clock that is set back or forth ends no lease. */
export class LocalBoard implements TaskBoard {
  readonly #options: LocalBoardOptions
  /** In the order they were offered. */
  readonly #open = new Map<string, Offer>()
  readonly #ready = new Set<Offer>()
  readonly #waiting = new Set<Waiter>()
  /** The lease under which a task was completed. */
  readonly #ended = new Map<string, string>()

  constructor(options: LocalBoardOptions) {
    this.#options = options
  }

  offer(task: ExternalTask, { timeoutMs, signal }: OfferLimits): Promise<TaskEnding> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve({ how: 'aborted', began: false })
      let undo: () => void = () => undefined
      const offer: Offer = {
        task,
        began: false,
        end: (ending) => {
          clearTimeout(timer)
          clearTimeout(offer.lease?.timer)
          undo()
          this.#open.delete(task.taskId)
          this.#ready.delete(offer)
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
      this.#ready.add(offer)
      this.#serve(offer)
    })
  }

  claim(request: ClaimRequest): Promise<readonly ClaimedTask[]> {
    const { max, waitMs, signal } = request
    if (signal?.aborted) return Promise.resolve([])
    const taken: ClaimedTask[] = []
    for (const offer of this.#ready) {
      if (taken.length >= max) break
      if (suits(request, offer.task)) taken.push(this.#lease(offer, request))
    }
    if (taken.length > 0 || waitMs <= 0 || max < 1) return Promise.resolve(taken)
    return new Promise((resolve) => {
      let undo: () => void = () => undefined
      const waiter: Waiter = {
        request,
        give: (tasks) => {
          clearTimeout(timer)
          undo()
          this.#waiting.delete(waiter)
          resolve(tasks)
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
    return true
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
    if (offer === undefined)
      return leaseId !== undefined && this.#ended.get(taskId) === leaseId ? 'duplicate' : 'gone'
    if (leaseId !== undefined && offer.lease?.id !== leaseId) return 'late'
    if (leaseId !== undefined) this.#remember(taskId, leaseId)
    offer.end({ how: 'completed', completion })
    return 'accepted'
  }

  async release(taskId: string, leaseId: string): Promise<boolean> {
    const offer = this.#held(taskId, leaseId)
    if (offer === undefined || offer.began) return false
    offer.end({ how: 'released', began: false })
    return true
  }

  async abandon(worker: string): Promise<void> {
    for (const offer of [...this.#open.values()])
      if (offer.lease?.worker === worker) offer.end({ how: 'lost', began: offer.began })
  }

  async pending(): Promise<readonly ExternalTask[]> {
    return this.list()
  }

  list(): readonly ExternalTask[] {
    return [...this.#open.values()].map(({ task }) => task)
  }

  close(): void {
    for (const waiter of [...this.#waiting]) waiter.give([])
    for (const offer of [...this.#open.values()]) offer.end({ how: 'aborted', began: offer.began })
  }

  #serve(offer: Offer): void {
    const waiter = [...this.#waiting].find(({ request }) => suits(request, offer.task))
    waiter?.give([this.#lease(offer, waiter.request)])
  }

  #lease(offer: Offer, { worker, announcesStart }: ClaimRequest): ClaimedTask {
    const { leaseMs, newId } = this.#options
    const id = newId()
    offer.lease = { id, worker }
    // Of a worker that does not say when it begins, one must think that it has.
    offer.began = announcesStart !== true
    this.#ready.delete(offer)
    this.#watch(offer)
    return { ...offer.task, leaseId: id, leaseMs }
  }

  /** From now on the worker may be silent for as long as a lease is. */
  #watch(offer: Offer): void {
    const { lease } = offer
    if (lease === undefined) return
    clearTimeout(lease.timer)
    const { leaseMs } = this.#options
    const end = (): void => offer.end({ how: 'lost', began: offer.began })
    // In two steps: when this process itself was held up, what workers sent meanwhile is read before anything is given
    // up.
    lease.timer = setTimeout(() => {
      lease.timer = setTimeout(end, leaseMs / 4)
    }, leaseMs * 0.75)
  }

  #held(taskId: string, leaseId: string): Offer | undefined {
    const offer = this.#open.get(taskId)
    return offer?.lease?.id === leaseId ? offer : undefined
  }

  #remember(taskId: string, leaseId: string): void {
    this.#ended.set(taskId, leaseId)
    for (const oldest of this.#ended.keys()) {
      if (this.#ended.size <= remembered) return
      this.#ended.delete(oldest)
    }
  }
}

type Offer = {
  readonly task: ExternalTask
  began: boolean
  lease?: { readonly id: string; readonly worker: string; timer?: ReturnType<typeof setTimeout> }
  end(ending: TaskEnding): void
}
type Waiter = {
  readonly request: ClaimRequest
  give(tasks: readonly ClaimedTask[]): void
}

function suits({ lanes, tools }: ClaimRequest, { lane, commandType }: ExternalTask): boolean {
  return (lanes?.includes(lane) ?? true) && (tools?.includes(commandType) ?? true)
}
