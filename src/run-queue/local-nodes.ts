import { randomUUID } from 'node:crypto'
import type { NodeDescription, WakeReason } from './run-queue.js'

/** A worker of this process. */
export type LocalNode = {
  readonly id: string
  readonly description: NodeDescription
  readonly startedAtMs: number
  readonly listeners: Set<(reason: WakeReason) => void>
  isDraining: boolean
}

/** The workers that share the queue of one process, with their wake-up listeners. */
export class LocalNodes {
  readonly #nodes = new Map<string, LocalNode>()
  readonly #timers = new Set<NodeJS.Timeout>()

  all(): readonly LocalNode[] {
    return [...this.#nodes.values()]
  }

  has({ id }: LocalNode): boolean {
    return this.#nodes.has(id)
  }

  add(description: NodeDescription, startedAtMs: number): LocalNode {
    const node = {
      id: randomUUID(),
      description,
      startedAtMs,
      listeners: new Set<(reason: WakeReason) => void>(),
      isDraining: false,
    }
    this.#nodes.set(node.id, node)
    return node
  }

  /** Removes a node; false if it was removed before. */
  remove({ id, listeners }: LocalNode): boolean {
    listeners.clear()
    return this.#nodes.delete(id)
  }

  clear(): void {
    for (const timer of this.#timers) clearTimeout(timer)
    this.#nodes.clear()
  }

  drain(id: string): boolean {
    const node = this.#nodes.get(id)
    if (node === undefined) return false
    node.isDraining = true
    this.wake(id, 'drain')
    return true
  }

  wakeAll(reason: WakeReason): void {
    for (const id of this.#nodes.keys()) this.wake(id, reason)
  }

  wake(id: string | undefined, reason: WakeReason): void {
    const node = id === undefined ? undefined : this.#nodes.get(id)
    for (const listener of [...(node?.listeners ?? [])]) listener(reason)
  }

  /** Wakes all nodes after a time. */
  wakeLater(waitMs: number): void {
    const timer = setTimeout(
      () => {
        this.#timers.delete(timer)
        if (waitMs > maxTimerMs) this.wakeLater(waitMs - maxTimerMs)
        else this.wakeAll('work')
      },
      Math.min(waitMs, maxTimerMs),
    )
    // The worker itself keeps its process alive, not this timer.
    timer.unref()
    this.#timers.add(timer)
  }
}

const maxTimerMs = 2 ** 31 - 1
