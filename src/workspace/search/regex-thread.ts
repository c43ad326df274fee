import type { Worker } from 'node:worker_threads'
import { SearchError } from './errors.js'
import {
  regexWorkerProgram,
  type WorkerAnswer,
  type WorkerRequest,
  type WorkerSetup,
} from './regex-worker.js'

export type RegexThread = {
  /** Returns the worker's answer; undefined after the time is over or the caller has stopped. */
  search(request: WorkerRequest): Promise<WorkerAnswer | undefined>
  close(): Promise<void>
}

/** Starts a thread for one search. A pattern that never ends is terminated with its thread, without waiting for it. */
export async function startRegexThread(setup: WorkerSetup, stopped: Promise<void>): Promise<RegexThread> {
  const { Worker } = await import('node:worker_threads')
  const worker = new Worker(regexWorkerProgram(), {
    eval: true,
    workerData: setup,
    env: {},
    stdin: false,
    resourceLimits: { maxOldGenerationSizeMb: 1_024 },
  })
  worker.unref()
  return {
    search(request) {
      const answer = answerOf(worker)
      worker.postMessage(request)
      return Promise.race([answer, stopped.then(() => undefined)])
    },
    async close() {
      await worker.terminate()
    },
  }
}

function answerOf(worker: Worker): Promise<WorkerAnswer> {
  return new Promise((resolve, reject) => {
    // A pending request keeps the process alive; an idle thread does not.
    worker.ref()
    const settle = (done: () => void) => {
      worker.off('message', onMessage).off('error', onError).off('exit', onExit)
      worker.unref()
      done()
    }
    const onMessage = (answer: WorkerAnswer) => settle(() => resolve(answer))
    const onError = (cause: Error) =>
      settle(() => reject(new SearchError('search_failed', `The search failed: ${cause.message}`, { cause })))
    const onExit = () =>
      settle(() => reject(new SearchError('search_failed', 'The search thread ended early.')))
    worker.on('message', onMessage).on('error', onError).on('exit', onExit)
  })
}
