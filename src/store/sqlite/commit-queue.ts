import { setTimeout as wait } from 'node:timers/promises'
import type { Connection } from './connection.js'
import { isBusy, storeErrorOf } from './faults.js'

/**
 * Runs all writes one after the other. Writes requested in the same turn of the event loop become one commit, so that
 * many sessions share one sync of the disk.
 */
export class CommitQueue {
  readonly #connection: () => Connection
  readonly #file: string
  #jobs: Job[] = []
  #draining: Promise<void> | undefined

  constructor(file: string, connection: () => Connection) {
    this.#file = file
    this.#connection = connection
  }

  /** Runs the work inside a transaction, perhaps more than once: it must have no effect outside of the database. */
  add<Result>({ durable, work, failed }: Work<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#jobs.push({
        durable,
        run: (connection) => {
          const result = work(connection)
          return () => resolve(result)
        },
        fail: (thrown) => {
          const error = storeErrorOf(thrown, this.#file)
          failed?.(error)
          reject(error)
        },
      })
      this.#draining ??= new Promise<void>((done) => setImmediate(done)).then(() => this.#drain())
    })
  }

  /** Resolves when the queue is empty. */
  async settled(): Promise<void> {
    while (this.#draining !== undefined) await this.#draining
  }

  async #drain(): Promise<void> {
    while (this.#jobs.length > 0) {
      const jobs = this.#jobs
      this.#jobs = []
      if (!(await this.#commit(jobs)) && jobs.length > 1) for (const job of jobs) await this.#commit([job])
    }
    this.#draining = undefined
  }

  /** Returns false when one of several jobs failed. Then none of them is stored, and each is tried separately. */
  async #commit(jobs: readonly Job[]): Promise<boolean> {
    const giveUpAt = performance.now() + patienceMs
    for (;;) {
      try {
        const connection = this.#connection()
        const durable = jobs.some((job) => job.durable)
        const settle = connection.transaction(durable, () => jobs.map((job) => job.run(connection)))
        for (const one of settle) one()
        return true
      } catch (thrown) {
        if (isBusy(thrown) && performance.now() < giveUpAt) await wait(retryAfterMs)
        else {
          if (jobs.length === 1) for (const job of jobs) job.fail(thrown)
          return false
        }
      }
    }
  }
}

export type Work<Result> = {
  readonly durable: boolean
  work(connection: Connection): Result
  /** Called before later work is tried. */
  failed?(error: Error): void
}

type Job = {
  readonly durable: boolean
  run(connection: Connection): () => void
  fail(thrown: unknown): void
}

/**
 * How long a write waits for other writers: long enough for several with slow disks, but not forever if one leaves a
 * transaction open.
 */
const patienceMs = 30_000
const retryAfterMs = 5
