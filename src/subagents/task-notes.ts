import type { TaskOutcome } from '../feature/task.js'
import { noUsage } from '../loop/usage.js'
import type { TaskNote } from '../store/records.js'
import type { JsonValue } from '../tool/json.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import type { SubagentTaskSnapshot } from './task-record.js'

/** Converts a task to its note in the log. */
export function noteOf(task: SubagentTaskSnapshot, workflow: TaskNote['workflow']): TaskNote {
  const { parentSessionId: _, progress: __, output, structured, counters, usage, ...rest } = task
  const cut = output !== undefined && output.length > maxOutputLength
  return {
    type: 'task',
    ...rest,
    counters: { ...counters },
    ...(usage !== undefined && { usage: { ...usage } }),
    ...(output !== undefined && { output: cut ? output.slice(0, maxOutputLength) : output }),
    ...(cut && { outputCut: true }),
    // The value was parsed from JSON.
    ...(structured !== undefined && { structured: structured as JsonValue }),
    workflow: workflow ?? null,
  }
}

/** Restores a task from its note in the log. */
export function snapshotOf(note: TaskNote, parentSessionId: string): SubagentTaskSnapshot {
  const { type: _, counters, usage, outputCut: __, workflow: ___, ...rest } = note
  const count = (name: string): number => {
    const value = counters[name]
    return typeof value === 'number' && Number.isFinite(value) ? value : 0
  }
  return {
    ...rest,
    parentSessionId,
    ...(usage !== undefined && { usage: { ...noUsage, ...usage } }),
    counters: {
      rounds: count('rounds'),
      toolCalls: count('toolCalls'),
      totalTokens: count('totalTokens'),
    },
    progress: [],
  }
}

/** The outcome of an ended task, of this process or an earlier one. */
export function doneBy(task: SubagentTaskSnapshot): TaskOutcome {
  const { taskId, childSessionId, agent, description, output = '', success = false, counters, error } = task
  return {
    taskId,
    sessionId: childSessionId,
    agent,
    description,
    output,
    success,
    counters,
    ...omitUndefined({ error, structured: task.structured }),
  }
}

/** The full output is in the log of the session that performed the task. */
const maxOutputLength = 64 * 1024
