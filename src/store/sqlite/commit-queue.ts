import { setTimeout as wait } from 'node:timers/promises'
import type { Connection } from './connection.js'
import { isBusy, storeErrorOf } from './faults.js'

/**
 * Everything that writes, one after the other. What is asked for in the same turn of the event loop becomes one commit, so that many
 * sessions pay for one sync of the disk together.
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

  /** Runs the work inside a transaction, perhaps more than once: it must change nothing but the database. */
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

  /** Resolves when nothing is waiting any more. */
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

  /** False when one of several failed: then nothing of them is kept, and each is tried by itself. */
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
  /** Told before anything that was asked for later is tried. */
  failed?(error: Error): void
}

type Job = {
  readonly durable: boolean
  run(connection: Connection): () => void
  fail(thrown: unknown): void
}

/** Several writers with slow disks are no reason to fail; somebody who forgot an open transaction is. */
const patienceMs = 30_000
const retryAfterMs = 5
