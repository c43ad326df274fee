import type { QueueTaskNote } from '../store/records.js'
import type { QueueState } from '../store/session-state.js'
import { laneNames } from '../tool/lane.js'
import type { Completion, ExternalTask, TaskEnding } from './engine.js'
import { savedArgs } from './queue-log.js'
import type { LocalBoard } from './task-board.js'
import { readCompletion } from './worker-result.js'

/** A task that an earlier process of this session offered to workers. */
export type RestoredTask = {
  readonly task: ExternalTask
  /** The arguments as JSON text; absent when the log does not have them. */
  readonly args: string | undefined
  readonly argsDigest: string | undefined
  readonly callId: string | undefined
  /** Whether a worker may have begun it. */
  readonly began: boolean
  readonly ending: Promise<TaskEnding>
}

export type RestoreOptions = {
  readonly sessionId: string
  readonly board: LocalBoard
  readonly state: QueueState
  /** The last message of the conversation: calls of earlier messages have been answered. */
  readonly lastMessageId: string | undefined
}

/**
 * Puts the tasks of an earlier process back on the board. A worker that had begun can continue and complete its task;
 * any other task waits until its call passes the gate again, because a log grants no permission. The time limit of
 * each task starts again, because no worker could reach the board in between.
 */
export class RestoredTasks {
  readonly #board: LocalBoard
  readonly #byCall = new Map<string, RestoredTask>()
  /** Tasks of calls whose caller ended with its process. */
  readonly orphans: readonly RestoredTask[]

  constructor({ sessionId, board, state, lastMessageId }: RestoreOptions) {
    this.#board = board
    for (const [taskId, leaseId] of state.completed) board.remember(taskId, leaseId)
    const orphans: RestoredTask[] = []
    for (const { messageId, task } of state.tasks.values()) {
      if (task.callId !== undefined && messageId !== lastMessageId) continue
      const restored = restore(sessionId, board, task)
      if (restored === undefined) continue
      if (restored.callId === undefined) orphans.push(restored)
      else this.#byCall.set(restored.callId, restored)
    }
    this.orphans = orphans
  }

  /** Removes and returns the task of a call that is made again. */
  take(callId: string): RestoredTask | undefined {
    const restored = this.#byCall.get(callId)
    this.#byCall.delete(callId)
    return restored
  }

  /** Withdraws the restored tasks: their calls have been answered without them. */
  forgetCalls(): void {
    for (const { task } of this.#byCall.values()) this.#board.withdraw(task.taskId)
    this.#byCall.clear()
  }
}

function restore(sessionId: string, board: LocalBoard, note: QueueTaskNote): RestoredTask | undefined {
  const task = taskOf(sessionId, note)
  if (task === undefined) return undefined
  const { callId, args, argsDigest, state, leaseId, worker = 'a worker' } = note
  const completion = state === 'completed' ? completionIn(note) : undefined
  const began = state !== 'offered'
  // A completed task without a result in the log has an unknown outcome.
  const ending: Promise<TaskEnding> =
    state === 'completed'
      ? Promise.resolve(completion === undefined ? { how: 'lost', began } : { how: 'completed', completion })
      : board.offer(
          task,
          { timeoutMs: task.timeoutMs },
          { lease: began && leaseId !== undefined ? { id: leaseId, worker } : undefined, began },
        )
  return { task, args, argsDigest, callId, began, ending }
}

/** Converts a note to a task; undefined if the note is not a valid task of this version. */
function taskOf(sessionId: string, note: QueueTaskNote): ExternalTask | undefined {
  const { taskId, toolName, timeoutMs = 0, attempt = 1, idempotent = false } = note
  const lane = laneNames.find((name) => name === note.lane)
  if (lane === undefined || toolName === undefined || !(timeoutMs >= 1)) return undefined
  // A lower number would give the call more attempts than the session allows.
  if (!Number.isSafeInteger(attempt) || attempt < 1) return undefined
  const payload = savedArgs(note.args) ?? null
  return { taskId, sessionId, lane, commandType: toolName, payload, timeoutMs, attempt, idempotent }
}

function completionIn({ completion }: QueueTaskNote): Completion | undefined {
  return typeof completion?.['success'] === 'boolean' ? readCompletion(completion) : undefined
}
