import type {
  Completion,
  DeadLetter,
  ExternalTask,
  Lane,
  LaneHandler,
  QueueDoor,
  QueueMetrics,
  QueueStats,
  ServeQueueOptions,
  WorkerStreams,
} from '../../queue/index.js'
import type { ToolResult } from '../../tool/tool-result.js'
import { callTool } from '../direct-tools.js'
import { queueOf } from '../parts/queue.js'
import { ConnectionSurface } from './connections.js'
import { coreOf } from './session-surface.js'

/** The lanes that calls wait in, where a session has them. */
export abstract class QueueSurface extends ConnectionSurface {
  /** Whether calls pass lanes: the session was made with `queueConfig`. */
  hasQueue(): boolean {
    return coreOf(this).parts.options.queueConfig !== undefined
  }

  /** Who does the work of a lane, from the next call on. */
  async setLaneHandler(lane: Lane, handler: LaneHandler): Promise<void> {
    return queueOf(coreOf(this)).setHandler(lane, handler)
  }

  /** The tasks that were handed out and have no result yet. */
  async pendingExternalTasks(): Promise<(ExternalTask & { readonly id: string })[]> {
    return this.hasQueue() ? queueOf(coreOf(this)).pending() : []
  }

  /** The result of a task that was handed out. False when no such task waits for one, and nothing is done then. */
  async completeExternalTask(taskId: string, completion: Completion): Promise<boolean> {
    return this.hasQueue() && queueOf(coreOf(this)).complete(taskId, completion)
  }

  /** How many calls wait, are at work, and are out. */
  async queueStats(): Promise<QueueStats> {
    return queueOf(coreOf(this)).stats()
  }

  /** What was counted so far; null without `enableMetrics`. */
  async queueMetrics(): Promise<QueueMetrics | null> {
    return this.hasQueue() ? queueOf(coreOf(this)).metrics() : null
  }

  /** The calls that failed for good; none without `enableDlq`. */
  async deadLetters(): Promise<DeadLetter[]> {
    return this.hasQueue() ? queueOf(coreOf(this)).deadLetters() : []
  }

  /** Makes the call of a dead letter again, as a direct call of the host, and takes the letter away. */
  async retryDeadLetter(
    commandId: string,
    options: {
      /** Needed where the first attempts may have done some of the work, and the tool was not declared idempotent. */
      readonly evenIfItMayHaveRun?: boolean
    } = {},
  ): Promise<ToolResult> {
    const core = coreOf(this)
    const { commandType, payload } = queueOf(core).takeDeadLetter(commandId, options)
    return callTool(core, commandType, payload)
  }

  /** Lets workers of other processes ask for tasks over HTTP, on this machine alone unless said otherwise. Ends with the session. */
  async serveQueue(options: ServeQueueOptions): Promise<QueueDoor> {
    return queueOf(coreOf(this)).serve(options)
  }

  /** Lets a worker ask for tasks over a pair of streams. Gives what ends that. */
  async attachQueueWorker(streams: WorkerStreams): Promise<() => void> {
    return queueOf(coreOf(this)).attach(streams)
  }
}
