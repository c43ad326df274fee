import PQueue from 'p-queue'
import { onAbort } from '../loop/on-abort.js'
import { type Lane, laneNames } from '../tool/lane.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import type { QueueSettings } from './config.js'
import type { LaneDepth, LaneEntry, Room } from './engine.js'

/**
 * The slots of the lanes. Each lane has its own limit. If there is also a common limit, a call takes the common slot
 * second, so that no call that holds a common slot waits for a lane.
 */
export class Lanes {
  readonly #settings: QueueSettings
  readonly #queues = new Map<Lane, PQueue>()
  readonly #all: PQueue | undefined
  readonly #depths: Record<Lane, { waiting: number; active: number }>
  /** The functions that end each wait. */
  readonly #waiting = new Set<() => void>()
  #closed = false

  constructor(settings: QueueSettings) {
    this.#settings = settings
    const { maxConcurrency } = settings
    this.#all = Number.isFinite(maxConcurrency) ? new PQueue({ concurrency: maxConcurrency }) : undefined
    const none = () => ({ waiting: 0, active: 0 })
    this.#depths = { control: none(), query: none(), execute: none(), generate: none() }
  }

  async enter({ lane, priority, signal }: LaneEntry): Promise<Room | undefined> {
    const depth = this.#depths[lane]
    // Waiting raises the priority: a call that is one step less urgent, and arrived one ageing step earlier, is
    // equally urgent. The order of two waiting calls never changes, so it is computed once, and no call waits
    // forever.
    const order = -(performance.now() + priority * this.#settings.ageingMs)
    depth.waiting++
    const own = await this.#wait(this.#queue(lane), order, signal)
    const shared = own && this.#all && (await this.#wait(this.#all, order, signal))
    depth.waiting--
    if (own === undefined || (this.#all !== undefined && shared === undefined)) {
      own?.leave()
      return undefined
    }
    depth.active++
    return {
      leave: () => {
        depth.active--
        shared?.leave()
        own.leave()
      },
    }
  }

  depth(lane: Lane): LaneDepth {
    return { ...this.#depths[lane] }
  }

  /** Ends every wait without a slot. */
  close(): void {
    this.#closed = true
    for (const giveUp of [...this.#waiting]) giveUp()
    for (const lane of laneNames) this.#queues.get(lane)?.clear()
    this.#all?.clear()
  }

  #queue(lane: Lane): PQueue {
    const known = this.#queues.get(lane)
    if (known !== undefined) return known
    const { concurrency, rate } = this.#settings.lanes[lane]
    const made = new PQueue({
      concurrency,
      ...omitUndefined({ intervalCap: rate?.count, interval: rate?.perMs }),
    })
    this.#queues.set(lane, made)
    return made
  }

  /**
   * Waits for a slot, which is held until `leave`. A slot that comes after the caller gave up is released at once.
   */
  #wait(queue: PQueue, priority: number, signal: AbortSignal | undefined): Promise<Room | undefined> {
    if (this.#closed || signal?.aborted) return Promise.resolve(undefined)
    return new Promise((resolve) => {
      let waits = true
      let undo: (() => void) | undefined
      const giveUp = (): void => {
        waits = false
        this.#waiting.delete(giveUp)
        undo?.()
        resolve(undefined)
      }
      this.#waiting.add(giveUp)
      void queue.add(
        () => {
          if (!waits) return Promise.resolve()
          waits = false
          this.#waiting.delete(giveUp)
          undo?.()
          return new Promise<void>((leave) => resolve({ leave }))
        },
        { priority },
      )
      // Usually there is a free slot at once, and no listener is needed.
      if (waits && signal !== undefined) undo = onAbort(signal, giveUp)
    })
  }
}
