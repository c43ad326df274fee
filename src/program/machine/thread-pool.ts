import { ProgramError } from './errors.js'
import type { ProgramThread } from './thread.js'

export interface ThreadPool {
  /** Returns a thread with a fresh sandbox, for one program; waits when all are in use. */
  take(signal: AbortSignal): Promise<ProgramThread>
  /** Returns a thread to the pool after a program that ended well. */
  release(thread: ProgramThread): void
  /** Terminates a thread that cannot be reused, or is still working. */
  discard(thread: ProgramThread): Promise<void>
  close(): Promise<void>
}

export type ThreadPoolOptions = {
  /** The number of threads that stay ready after the first program. */
  readonly warm: number
  readonly maxThreads: number
  /** How long a program waits for a thread. Others may wait for a user who never answers. */
  readonly maxWaitMs: number
  start(): Promise<ProgramThread>
}

type Request = { serve(thread: ProgramThread): void; refuse(error: unknown): void }

/** Starting a thread uses a whole processor for a while: many at once only slow each other down. */
const maxStarting = 2

/**
 * Creates a pool of threads: each runs one program at a time, and a few are ready in advance. A waiting program gets
 * the first thread that is ready, new or reused, in the order of the requests.
 */
export function createThreadPool(options: ThreadPoolOptions): ThreadPool {
  const { warm, maxThreads, maxWaitMs, start } = options
  /** Every thread that was started and not ended, and those of them that have finished starting. */
  const all = new Set<ProgramThread>()
  const started = new Set<ProgramThread>()
  const unused: ProgramThread[] = []
  const requests: Request[] = []
  let starting = 0
  let closed = false

  const forget = (thread: ProgramThread): void => {
    all.delete(thread)
    started.delete(thread)
  }
  const end = async (thread: ProgramThread): Promise<void> => {
    forget(thread)
    await thread.close()
  }
  const offer = (thread: ProgramThread): void => {
    const request = requests.shift()
    if (request !== undefined) request.serve(thread)
    else if (unused.length < warm && !closed) unused.push(thread)
    else void end(thread)
  }
  const begin = async (): Promise<void> => {
    starting++
    try {
      const thread = await start()
      all.add(thread)
      if (closed) await end(thread)
      await thread.ready()
      started.add(thread)
      offer(thread)
    } catch (error) {
      // If no program waits for it, the next request starts another thread and gets the error.
      requests.shift()?.refuse(error)
    } finally {
      starting--
      if (requests.length > 0) grow()
    }
  }
  const grow = (): void => {
    const wanted = requests.length > 0 ? requests.length : warm - started.size
    while (!closed && starting < Math.min(wanted, maxStarting) && started.size + starting < maxThreads)
      void begin()
  }
  /** Makes a thread available again when its new sandbox is ready. */
  const reuse = async (thread: ProgramThread): Promise<void> => {
    try {
      await thread.ready()
      offer(thread)
    } catch {
      // The thread ended meanwhile; no program was waiting for it.
      forget(thread)
    }
    grow()
  }
  const busy = (): ProgramError =>
    new ProgramError(
      'program_busy',
      `The program was not run: no thread was free for ${maxWaitMs} ms, with ${started.size} of ${maxThreads} in use. Other programs run, or wait for an approval: answer those, or try again later.`,
    )
  const nextUnused = (): ProgramThread | undefined => {
    for (;;) {
      const thread = unused.pop()
      if (thread === undefined || !thread.dead) return thread
      forget(thread)
    }
  }

  return {
    async take(signal) {
      if (closed) throw closedError()
      const thread = nextUnused()
      if (thread !== undefined) return thread
      return waitFor({ signal, requests, grow, maxWaitMs, busy })
    },
    release(thread) {
      if (closed) void end(thread)
      else void reuse(thread)
    },
    async discard(thread) {
      await end(thread)
      grow()
    },
    async close() {
      closed = true
      for (const { refuse } of requests.splice(0)) refuse(closedError())
      await Promise.all([...all].map(end))
    },
  }
}

type Waiting = Pick<ThreadPoolOptions, 'maxWaitMs'> & {
  readonly signal: AbortSignal
  readonly requests: Request[]
  grow(): void
  busy(): ProgramError
}

function waitFor({ signal, requests, grow, maxWaitMs, busy }: Waiting): Promise<ProgramThread> {
  return new Promise((resolve, reject) => {
    // A starting thread does not keep the process alive; a waiting program does.
    const late = setTimeout(() => leave(busy()), maxWaitMs)
    const settle = (): void => {
      clearTimeout(late)
      signal.removeEventListener('abort', stop)
    }
    const request: Request = {
      serve(thread) {
        settle()
        resolve(thread)
      },
      refuse(error) {
        settle()
        reject(error)
      },
    }
    const leave = (error: ProgramError): void => {
      requests.splice(requests.indexOf(request), 1)
      request.refuse(error)
    }
    const stop = (): void =>
      leave(new ProgramError('program_aborted', 'The program was not run: the run was aborted.'))
    signal.addEventListener('abort', stop, { once: true })
    requests.push(request)
    grow()
  })
}

function closedError(): ProgramError {
  return new ProgramError('program_closed', 'The program was not run: the session is closed.')
}
