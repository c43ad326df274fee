import { describe, expect, it } from 'vitest'
import type { TaskOutcome } from '../feature/task.js'
import { noUsage } from '../loop/usage.js'
import { type NewTask, TaskRecord } from './task-record.js'

const task: NewTask = {
  taskId: 't',
  parentSessionId: 'p',
  childSessionId: 'c',
  agent: 'explore',
  description: 'looks',
  background: true,
}
const counters = { rounds: 1, toolCalls: 2, totalTokens: 3 }
const outcome: TaskOutcome = {
  taskId: 't',
  sessionId: 'c',
  agent: 'explore',
  description: 'looks',
  success: true,
  output: 'seen',
  counters,
}
function newRecord() {
  let time = 100
  return new TaskRecord(task, () => time++)
}

describe('TaskRecord', () => {
  it('is queued, then runs, then has ended, each at its time', () => {
    const record = newRecord()
    expect(record.snapshot()).toMatchObject({ ...task, status: 'queued', startedAtMs: 100, updatedAtMs: 100 })
    record.start()
    expect(record.snapshot()).toMatchObject({ status: 'running', startedAtMs: 100, updatedAtMs: 101 })
    expect(record.pending).toBe(true)
    record.finish('completed', outcome, { ...noUsage, totalTokens: 3 })
    expect(record.pending).toBe(false)
    expect(record.snapshot()).toMatchObject({ status: 'completed', output: 'seen', success: true, counters })
    expect(record.snapshot()).not.toHaveProperty('error')
  })

  it('has only one end', () => {
    const record = newRecord()
    record.finish('failed', { ...outcome, success: false, error: 'no', structured: { a: 1 } }, noUsage)
    record.finish('completed', outcome, noUsage)
    expect(record.snapshot()).toMatchObject({ status: 'failed', error: 'no', structured: { a: 1 } })
    expect(record.cancel('too late')).toBe(false)
    expect(record.signal.aborted).toBe(false)
  })

  it('is cancelled once, with a reason', () => {
    const record = newRecord()
    expect(record.cancel('not wanted')).toBe(true)
    expect(record.cancel('really not')).toBe(false)
    expect(record.signal.reason).toMatchObject({ message: 'not wanted' })
    // The code that does the work says when it has ended.
    expect(record.pending).toBe(true)
  })

  it('keeps the last 20 steps', () => {
    const record = newRecord()
    for (let n = 1; n <= 25; n++) record.note(`round ${n} done`, { ...counters, rounds: n })
    const { progress, counters: now } = record.snapshot()
    expect(progress).toHaveLength(20)
    expect(progress[0]?.status).toBe('round 6 done')
    expect(now.rounds).toBe(25)
  })

  it('gives a snapshot that does not change', () => {
    const record = newRecord()
    const before = record.snapshot()
    record.note('works', counters)
    expect(before).toMatchObject({ status: 'queued', progress: [] })
  })

  it('is interrupted when it was running in a process that ended', () => {
    const record = newRecord()
    record.start()
    const restored = TaskRecord.restored(record.snapshot(), () => 500)
    expect(restored.snapshot()).toMatchObject({
      status: 'interrupted',
      success: false,
      error: expect.stringContaining('outcome unknown'),
      finishedAtMs: 500,
    })
    expect(restored.id).toBe('t')
    expect(restored.cancel('x')).toBe(false)
  })

  it('is unchanged when it had ended before its process did', () => {
    const record = newRecord()
    record.finish('completed', outcome, noUsage)
    expect(TaskRecord.restored(record.snapshot(), () => 500).snapshot()).toEqual(record.snapshot())
  })
})
