import { createHash } from 'node:crypto'
import type { PartRow } from '../store/records.js'
import type { JsonValue } from '../tool/json.js'
import { JsonTextError, parseJsonText } from '../tool/json-text.js'
import type { Lane } from '../tool/lane.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { jsonTextOf } from '../tool/serialize.js'
import type { DeadLetter } from './dead-letters.js'
import type { Completion, ExternalTask } from './engine.js'
import type { LaneHandler } from './lane.js'
import type { TaskLog } from './task-board.js'

export type QueueLogOptions = {
  /** Resolves when the note is written to the session's log. */
  note(content: PartRow['content']): Promise<void>
  /** How the log redacts texts. */
  readonly redact?: ((text: string) => string) | undefined
}

/** Longer arguments and results are not saved: a later process then does not make the call again. */
const maxLength = 256 * 1024

/** Writes the state of the lanes to the session's log, for a later process. */
export class QueueLog implements TaskLog {
  readonly #options: QueueLogOptions

  constructor(options: QueueLogOptions) {
    this.#options = options
  }

  /** Called before a worker can claim the task. */
  offered(task: ExternalTask, args: string, callId: string | undefined): Promise<void> {
    const { taskId, lane, commandType, timeoutMs, attempt, idempotent } = task
    return this.#options.note({
      type: 'queue_task',
      state: 'offered',
      taskId,
      lane,
      toolName: commandType,
      argsDigest: digestOf(args),
      timeoutMs,
      attempt,
      idempotent,
      ...omitUndefined({ callId, args: this.#savable(args) }),
    })
  }

  begun(taskId: string, lease: { readonly id: string; readonly worker: string }): Promise<void> {
    return this.#options.note({
      type: 'queue_task',
      state: 'begun',
      taskId,
      leaseId: lease.id,
      worker: lease.worker,
    })
  }

  completed(taskId: string, leaseId: string | undefined, completion: Completion): Promise<void> {
    const text = jsonTextOf(completion)
    const saved = text !== undefined && text.length <= maxLength ? JSON.parse(text) : undefined
    return this.#options.note({
      type: 'queue_task',
      state: 'completed',
      taskId,
      ...omitUndefined({ leaseId, completion: saved }),
    })
  }

  /** Called when the call of the task has ended and no result in the log says so. */
  ended(taskId: string): Promise<void> {
    return this.#options.note({ type: 'queue_task', state: 'ended', taskId })
  }

  buried(letter: DeadLetter, args: string | undefined): Promise<void> {
    const { commandId, commandType, lane, error, attempts, failedAt, mayHaveRun } = letter
    return this.#options.note({
      type: 'dead_letter',
      commandId,
      toolName: commandType,
      lane,
      error,
      attempts,
      failedAtMs: failedAt,
      mayHaveRun,
      ...omitUndefined({ args: this.#savable(args) }),
    })
  }

  removed(commandId: string): Promise<void> {
    return this.#options.note({ type: 'dead_letter', commandId, removed: true })
  }

  handler(lane: Lane, { mode, timeoutMs }: LaneHandler): Promise<void> {
    return this.#options.note({ type: 'lane_handler', lane, mode, ...omitUndefined({ timeoutMs }) })
  }

  /** Omits arguments that the log would redact: with them, it would be another call. */
  #savable(args: string | undefined): string | undefined {
    const { redact } = this.#options
    if (args === undefined) return undefined
    return args.length <= maxLength && (redact === undefined || redact(args) === args) ? args : undefined
  }
}

/** Parses saved arguments; undefined if the log does not have them, or they are not JSON. */
export function savedArgs(args: string | undefined): JsonValue | undefined {
  if (args === undefined) return undefined
  try {
    return parseJsonText(args)
  } catch (error) {
    if (error instanceof JsonTextError) return undefined
    throw error
  }
}

/** Returns the digest of arguments as JSON text. */
export function digestOf(args: string): string {
  return createHash('sha256').update(args).digest('hex')
}
