import { expect, it } from 'vitest'
import { noUsage } from '../loop/usage.js'
import { TaskBoard } from './task-board.js'

const task = (taskId: string) => ({
  taskId,
  parentSessionId: 'parent',
  childSessionId: `task-run-${taskId}`,
  agent: 'general',
  description: taskId,
  background: false,
})
const counters = { rounds: 0, toolCalls: 0, totalTokens: 0 }
const outcome = (taskId: string) => ({
  ...task(taskId),
  sessionId: `task-run-${taskId}`,
  success: true,
  output: 'done',
  counters,
})

it('drops the first that ended, never a running one', () => {
  let now = 0
  const board = new TaskBoard(1, () => ++now)
  const [a, b, c] = ['a', 'b', 'c'].map((id) => board.add(task(id)))
  for (const one of [b, a]) one?.finish('completed', outcome(one.id), noUsage)
  board.forget()
  expect(board.list().map(({ id }) => id)).toEqual(['a', 'c'])
  expect(c?.pending).toBe(true)
  c?.finish('completed', outcome('c'), noUsage)
  board.forget()
  expect(board.list().map(({ id }) => id)).toEqual(['c'])
})

it('keeps the first end of a task, and cancels no task that has ended', () => {
  const board = new TaskBoard(10, () => 1)
  const one = board.add(task('a'))
  expect(one.cancel('why')).toBe(true)
  expect(one.cancel('why')).toBe(false)
  one.finish('cancelled', { ...outcome('a'), success: false, error: 'why' }, noUsage)
  one.finish('completed', outcome('a'), noUsage)
  expect(one.snapshot()).toMatchObject({ status: 'cancelled', error: 'why' })
})

it('keeps the last steps of the progress', () => {
  const one = new TaskBoard(10, () => 1).add(task('a'))
  for (let step = 0; step < 50; step++) one.note(`step ${step}`, { ...counters, rounds: step })
  expect(one.snapshot().progress).toHaveLength(20)
  expect(one.snapshot().progress.at(-1)?.status).toBe('step 49')
  expect(one.snapshot().counters.rounds).toBe(49)
})

it('marks the tasks that an earlier process was running as interrupted', () => {
  const board = new TaskBoard(10, () => 7)
  const { snapshot } = { snapshot: new TaskBoard(10, () => 1).add(task('a')).snapshot() }
  board.restore({ ...snapshot, status: 'running' })
  expect(board.get('a')?.snapshot()).toMatchObject({ status: 'interrupted', success: false, finishedAtMs: 7 })
  expect(board.pending()).toEqual([])
})
