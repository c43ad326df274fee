import type { Worker } from 'node:worker_threads'
import type { Engine } from './engine.js'
import { ProgramError } from './errors.js'
import { guestSource } from './guest.js'
import { clockSlots, type FromThread, type ThreadSetup, type ToThread } from './messages.js'
import { threadProgram } from './thread-program.js'

/** A worker thread with a sandbox in which no script has run yet. */
export interface ProgramThread {
  /** Resolves when a fresh sandbox is ready; rejects when the thread ends before. Does not keep the process alive. */
  ready(): Promise<void>
  /** Runs until the thread reports how the program ended, or ends. No other program can use it meanwhile. */
  converse(first: ToThread, listen: (message: FromThread) => void): Promise<ThreadEnd>
  send(message: ToThread): void
  /** The time of the running program, on the clock of {@link monotonic}. */
  readonly clock: Float64Array
  readonly dead: boolean
  close(): Promise<void>
}

export type ThreadEnd =
  | Extract<FromThread, { kind: 'result' | 'failed' }>
  | { readonly kind: 'died'; readonly cause?: Error }

/** The stack for recursion inside the engine; the thread's stack is large enough for it with every native function. */
const stackBytes = 256 * 1024
const threadLimits = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16, stackSizeMb: 16 }

export async function startThread(engine: Engine, memoryBytes: number): Promise<ProgramThread> {
  const { Worker } = await import('node:worker_threads')
  const slots = Object.keys(clockSlots).length
  const clock = new SharedArrayBuffer(slots * Float64Array.BYTES_PER_ELEMENT)
  const setup: ThreadSetup = {
    engineUrl: engine.url,
    module: engine.module,
    guest: guestSource(),
    memoryBytes,
    stackBytes,
    clock,
  }
  const worker = new Worker(threadProgram(), {
    eval: true,
    workerData: setup,
    env: {},
    argv: [],
    execArgv: [],
    stdin: false,
    resourceLimits: threadLimits,
  })
  return wrap(worker, new Float64Array(clock))
}

/** Returns milliseconds on a clock that is equal in every thread of the process. */
export function monotonic(): number {
  const [seconds, nanos] = process.hrtime()
  return seconds * 1_000 + nanos / 1e6
}

function wrap(worker: Worker, clock: Float64Array): ProgramThread {
  let isReady = false
  let death: { readonly cause?: Error } | undefined
  let listen: (message: FromThread) => void = () => undefined
  let ended: (how: ThreadEnd) => void = () => undefined
  let wake: () => void = () => undefined
  worker.on('message', (message: FromThread) => {
    if (message.kind === 'ready') {
      isReady = true
      wake()
    } else if (message.kind === 'result' || message.kind === 'failed') ended(message)
    else listen(message)
  })
  const die = (cause?: Error): void => {
    death ??= cause === undefined ? {} : { cause }
    ended({ kind: 'died', ...death })
    wake()
  }
  worker.on('error', die)
  worker.on('exit', () => die())
  // A caller that waits for a thread keeps the process alive; an idle thread does not. Called last, because adding a
  // listener would undo it.
  worker.unref()

  return {
    get dead() {
      return death !== undefined
    },
    async ready() {
      while (!isReady && death === undefined)
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      if (death === undefined) return
      const why = death.cause === undefined ? '' : `: ${death.cause.message}`
      throw new ProgramError('program_crashed', `No thread for the program could be started${why}`, death)
    },
    async converse(first, hear) {
      listen = hear
      worker.ref()
      try {
        return await new Promise<ThreadEnd>((resolve) => {
          ended = resolve
          if (death !== undefined) resolve({ kind: 'died', ...death })
          isReady = false
          worker.postMessage(first)
        })
      } finally {
        listen = () => undefined
        ended = () => undefined
        worker.unref()
      }
    },
    send: (message) => worker.postMessage(message),
    clock,
    async close() {
      await worker.terminate()
    },
  }
}
