import { ProgramError } from './errors.js'
import type { ProgramThread } from './thread.js'

export interface ThreadPool {
  /** A thread with a fresh sandbox, for one program; waits when all are in use. */
  take(signal: AbortSignal | undefined): Promise<ProgramThread>
  /** Takes it back after a program that ended well. */
  giveBack(thread: ProgramThread): void
  /** Ends one that cannot be trusted with another program, or is still at work. */
  discard(thread: ProgramThread): Promise<void>
  close(): Promise<void>
}

export type ThreadPoolOptions = {
  /** How many unused threads are kept ready once there was a first program. */
  readonly warm: number
  readonly maxThreads: number
  start(): Promise<ProgramThread>
}

/** Threads for programs: one program at a time in each, a few of them ready before they are asked for. */
export function createThreadPool({ warm, maxThreads, start }: ThreadPoolOptions): ThreadPool {
  const unused: ProgramThread[] = []
  const all = new Set<ProgramThread>()
  const queue: (() => void)[] = []
  let inUse = 0
  let starting = 0
  let closed = false

  const begin = async (): Promise<ProgramThread> => {
    starting++
    try {
      const thread = await start()
      all.add(thread)
      if (closed) await end(thread)
      return thread
    } finally {
      starting--
    }
  }
  const end = async (thread: ProgramThread): Promise<void> => {
    all.delete(thread)
    await thread.close()
  }
  const keepWarm = (): void => {
    if (closed || unused.length + starting >= warm || inUse + unused.length + starting >= maxThreads) return
    void begin().then(
      (thread) => {
        if (!closed) unused.push(thread)
      },
      // Whoever asks for a thread next starts one too, and hears why it fails.
      () => undefined,
    )
  }
  const leave = (): void => {
    const next = queue.shift()
    // Handed on, so that nobody who comes in between can take the place.
    if (next === undefined) inUse--
    else next()
    keepWarm()
  }
  const enter = async (signal: AbortSignal | undefined): Promise<void> => {
    if (inUse < maxThreads) {
      inUse++
      return
    }
    await new Promise<void>((resolve, reject) => {
      const go = (): void => {
        signal?.removeEventListener('abort', stop)
        resolve()
      }
      const stop = (): void => {
        queue.splice(queue.indexOf(go), 1)
        reject(new ProgramError('program_aborted', 'The program was not run: the run was aborted.'))
      }
      signal?.addEventListener('abort', stop, { once: true })
      queue.push(go)
    })
  }

  return {
    async take(signal) {
      await enter(signal)
      try {
        for (;;) {
          if (closed) throw closedError()
          const thread = unused.pop() ?? (await begin())
          if (thread.dead) {
            await end(thread)
            continue
          }
          await thread.ready()
          if (!closed) return thread
        }
      } catch (error) {
        leave()
        throw error
      }
    },
    giveBack(thread) {
      if (closed || thread.dead || unused.length >= warm) void end(thread)
      else unused.push(thread)
      leave()
    },
    async discard(thread) {
      await end(thread)
      leave()
    },
    async close() {
      closed = true
      for (const go of queue.splice(0)) {
        inUse++
        go()
      }
      await Promise.all([...all].map(end))
    },
  }
}

function closedError(): ProgramError {
  return new ProgramError('program_closed', 'The program was not run: the session is closed.')
}
