import type { DeadLetterNote, LaneHandlerNote, QueueTaskNote } from './records.js'
import type { OpenTask, QueueState } from './session-state.js'

/** How many completed tasks are stored, so that a worker that reports a result twice gets the same answer. */
const remembered = 1_000
/** Larger numbers in a log are ignored: otherwise a log could exhaust the ids of a session. */
const maxNumber = 1e12

/** Computes the state of the lane queue from the notes of a log. */
export class QueueFold implements QueueState {
  readonly tasks = new Map<string, OpenTask>()
  readonly completed = new Map<string, string>()
  readonly letters = new Map<string, DeadLetterNote>()
  readonly handlers = new Map<string, LaneHandlerNote>()
  ids = 0

  take(messageId: string, note: QueueTaskNote | DeadLetterNote | LaneHandlerNote): void {
    if (note.type === 'queue_task') this.#takeTask(messageId, note)
    else if (note.type === 'dead_letter') this.#takeLetter(note)
    else this.handlers.set(note.lane, note)
  }

  /** Removes the tasks of calls that have their result. */
  closeCalls(isClosed: (callId: string) => boolean): void {
    for (const [id, { task }] of this.tasks)
      if (task.callId !== undefined && isClosed(task.callId)) this.tasks.delete(id)
  }

  #takeTask(messageId: string, note: QueueTaskNote): void {
    const { taskId, state, leaseId } = note
    this.#count(taskId)
    const known = this.tasks.get(taskId)
    if (state === 'completed' && leaseId !== undefined) this.#remember(taskId, leaseId)
    if (state === 'ended') this.tasks.delete(taskId)
    // An offer contains all fields of the task.
    else if (state === 'offered') this.tasks.set(taskId, { messageId, task: note })
    else if (known !== undefined) this.tasks.set(taskId, { ...known, task: { ...known.task, ...note } })
  }

  #takeLetter(note: DeadLetterNote): void {
    const { commandId } = note
    this.#count(commandId)
    // The call has failed permanently: no worker can still complete it.
    this.tasks.delete(commandId)
    if (note.removed === true) this.letters.delete(commandId)
    else this.letters.set(commandId, note)
  }

  #count(id: string): void {
    const number = Number(id.slice(id.lastIndexOf('-') + 1))
    if (Number.isSafeInteger(number) && number > this.ids && number < maxNumber) this.ids = number
  }

  #remember(taskId: string, leaseId: string): void {
    this.completed.set(taskId, leaseId)
    for (const oldest of this.completed.keys()) {
      if (this.completed.size <= remembered) return
      this.completed.delete(oldest)
    }
  }
}
