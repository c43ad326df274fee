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
  search(request: Omit<WorkerRequest, 'setup'>): Promise<WorkerAnswer | undefined>
  close(): Promise<void>
}

/**
 * Returns a thread for one search. A pattern that never ends is terminated with its thread, without waiting for it. A
 * thread that has answered everything waits for the next search: starting one takes as long as searching a project.
 */
export async function startRegexThread(setup: WorkerSetup, stopped: Promise<void>): Promise<RegexThread> {
  const worker = takeIdle() ?? (await startWorker())
  let unanswered = 0
  return {
    search(request) {
      const answer = answerOf(worker)
      unanswered += 1
      worker.postMessage({ ...request, setup } satisfies WorkerRequest)
      return Promise.race([
        answer.then((found) => {
          unanswered -= 1
          return found
        }),
        stopped.then(() => undefined),
      ])
    },
    async close() {
      if (unanswered > 0 || idle !== undefined) await worker.terminate()
      else keepIdle(worker)
    },
  }
}

async function startWorker(): Promise<Worker> {
  const { Worker } = await import('node:worker_threads')
  const worker = new Worker(regexWorkerProgram(), {
    eval: true,
    env: {},
    stdin: false,
    resourceLimits: { maxOldGenerationSizeMb: 1_024 },
  })
  worker.unref()
  // Those of a search are reported to it.
  worker.on('error', () => undefined)
  worker.once('exit', () => {
    if (idle?.worker === worker) takeIdle()
  })
  return worker
}

/** The thread that waits for the next search, and ends soon if none comes. It does not keep the process alive. */
let idle: { readonly worker: Worker; readonly timer: NodeJS.Timeout } | undefined
const idleMs = 2_000

function keepIdle(worker: Worker): void {
  const timer = setTimeout(() => {
    if (takeIdle() !== undefined) void worker.terminate()
  }, idleMs)
  timer.unref()
  idle = { worker, timer }
}

function takeIdle(): Worker | undefined {
  const taken = idle
  idle = undefined
  clearTimeout(taken?.timer)
  return taken?.worker
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
