import { onAbort, pause } from '../../loop/on-abort.js'
import { messageOf } from '../../tool/errors.js'
import { isRecord, type JsonObject, type JsonValue } from '../../tool/json.js'
import type { Lane } from '../../tool/lane.js'
import type { ClaimedTask, Completion } from '../engine.js'
import { QueueError } from '../errors.js'
import type { WorkerStreams } from '../serve/stream.js'
import type { Queue } from './ask-queue.js'

/** Runs one task. Returns the output of the tool; when it throws, the task can be retried. */
export type TaskHandler = (
  payload: JsonObject,
  context: {
    readonly task: ClaimedTask
    /** Aborted when the task is no longer assigned to this worker: a later result is rejected. */
    readonly signal: AbortSignal
  },
) => unknown

/** Options of `workOnQueue`. */
export type QueueWorkerOptions = {
  /** The handlers by the name of the tool; only tasks for these tools are requested. */
  readonly handlers: Readonly<Record<string, TaskHandler>>
  readonly lanes?: readonly Lane[]
  /** How many tasks run at once. Default: 1. */
  readonly concurrency?: number
  /** The name of the worker, shown to users who look at tasks. */
  readonly name?: string
  /** When it is aborted, the worker claims no further task and finishes its active ones. */
  readonly signal?: AbortSignal
} & (
  | { readonly url: string; readonly token: string }
  /** What the queue writes, and what it reads: `process.stdin` and `process.stdout` in a worker of the host. */
  | WorkerStreams
)

/**
 * Works on the tasks of a queue until the signal is aborted, or the streams end. Sends heartbeats to the queue while it
 * works, and starts no task that is no longer its own.
 *
 * ```ts
 * await workOnQueue({ url, token, handlers: { bash: async ({ command }) => run(command) } })
 * ```
 */
export async function workOnQueue(options: QueueWorkerOptions): Promise<void> {
  const { signal = new AbortController().signal, concurrency = 1 } = options
  const { askOverHttp, askOverStreams } = await import('./ask-queue.js')
  const queue: Queue = 'url' in options ? askOverHttp(options) : askOverStreams(options)
  const stop = new AbortController()
  const undo = onAbort(signal, () => stop.abort())
  void queue.closed.then(() => stop.abort())
  try {
    await Promise.all(
      Array.from({ length: concurrency }, (_, at) => workAlone(queue, options, at, stop.signal)),
    )
  } finally {
    undo()
    queue.close()
  }
}

async function workAlone(
  queue: Queue,
  { name = 'worker', lanes, handlers }: QueueWorkerOptions,
  at: number,
  signal: AbortSignal,
): Promise<void> {
  const wish = {
    worker: `${name}-${at + 1}`,
    tools: Object.keys(handlers),
    max: 1,
    waitMs: 20_000,
    announcesStart: true,
    lanes,
  }
  let failures = 0
  while (!signal.aborted) {
    try {
      const [task] = readTasks(await queue.ask('claim', wish, signal))
      failures = 0
      if (task !== undefined) await perform(queue, task, handlers[task.commandType])
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof QueueError) throw error
      // A queue that restarts is soon reachable again.
      await pause(Math.min(5_000, 100 * 2 ** failures++), signal)
    }
  }
}

async function perform(queue: Queue, task: ClaimedTask, handler: TaskHandler | undefined): Promise<void> {
  const { taskId, leaseId, leaseMs, payload } = task
  const lease = { taskId, leaseId }
  const lost = new AbortController()
  const started = await queue.ask('start', lease)
  if (!isRecord(started) || started['accepted'] !== true) return
  const beat = setInterval(() => {
    queue.ask('heartbeat', { leases: [lease] }).then(
      (answer) => {
        if (isRecord(answer) && Array.isArray(answer['lost']) && answer['lost'].includes(taskId)) lost.abort()
      },
      // A failed heartbeat needs no handling: the lease expires if too many fail.
      () => undefined,
    )
  }, leaseMs / 3)
  try {
    const completion = await doTask(handler, payload, { task, signal: lost.signal })
    await queue.ask('complete', { ...lease, ...completion })
  } finally {
    clearInterval(beat)
  }
}

async function doTask(
  handler: TaskHandler | undefined,
  payload: JsonValue,
  context: Parameters<TaskHandler>[1],
): Promise<Completion> {
  try {
    const result = await handler?.(isRecord(payload) ? payload : {}, context)
    return { success: true, result }
  } catch (error) {
    return { success: false, error: messageOf(error) }
  }
}

function readTasks(answer: unknown): ClaimedTask[] {
  const tasks = isRecord(answer) ? answer['tasks'] : undefined
  // The queue belongs to the worker's own host and serializes the same type.
  return Array.isArray(tasks) ? (tasks as ClaimedTask[]) : []
}
