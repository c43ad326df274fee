import { describe, expect, it } from 'vitest'
import { noUsage } from '../loop/usage.js'
import type { TaskNote } from '../store/records.js'
import { doneBy, noteOf, snapshotOf } from './task-notes.js'
import type { SubagentTaskSnapshot } from './task-record.js'

const task: SubagentTaskSnapshot = {
  taskId: 't',
  parentSessionId: 'p',
  childSessionId: 'c',
  agent: 'explore',
  description: 'looks',
  status: 'completed',
  background: false,
  startedAtMs: 1,
  updatedAtMs: 2,
  finishedAtMs: 2,
  output: 'seen',
  success: true,
  structured: { n: 1 },
  counters: { rounds: 1, toolCalls: 2, totalTokens: 3 },
  usage: { ...noUsage, totalTokens: 3 },
  progress: [{ atMs: 1, status: 'works', counters: { rounds: 0, toolCalls: 0, totalTokens: 0 } }],
}

describe('a task in the log', () => {
  it('is read as it was written, except for its steps', () => {
    const note = noteOf(task, { id: 'w', step: '0', digest: 'd' })
    expect(note).toMatchObject({ type: 'task', workflow: { id: 'w' } })
    expect(note).not.toHaveProperty('progress')
    expect(snapshotOf(note, 'p')).toEqual({ ...task, progress: [] })
    expect(noteOf(task, undefined).workflow).toBeNull()
  })

  it('has the start of a long output, and says that it is cut', () => {
    const note = noteOf({ ...task, output: 'x'.repeat(70_000) }, undefined)
    expect(note.output).toHaveLength(64 * 1024)
    expect(note.outputCut).toBe(true)
    expect(snapshotOf(note, 'p')).not.toHaveProperty('outputCut')
  })

  it('counts nothing where a log has no numbers', () => {
    const note: TaskNote = { ...noteOf(task, undefined), counters: { rounds: 'many', toolCalls: null } }
    expect(snapshotOf(note, 'p').counters).toEqual({ rounds: 0, toolCalls: 0, totalTokens: 0 })
  })

  it('has its outcome, and a failure when the log does not say success', () => {
    expect(doneBy(task)).toEqual({
      taskId: 't',
      sessionId: 'c',
      agent: 'explore',
      description: 'looks',
      output: 'seen',
      success: true,
      counters: task.counters,
      structured: { n: 1 },
    })
    const { output: _, success: __, structured: ___, ...bare } = task
    expect(doneBy({ ...bare, error: 'gone' })).toMatchObject({ output: '', success: false, error: 'gone' })
  })
})
