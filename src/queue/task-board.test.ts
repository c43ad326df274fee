import { describe, expect, it } from 'vitest'
import type { ClaimedTask, ExternalTask } from './engine.js'
import { LocalBoard } from './task-board.js'

function openBoard(leaseMs = 10_000): LocalBoard {
  let count = 0
  return new LocalBoard({ leaseMs, newId: () => `lease-${++count}` })
}

function task(taskId: string, more: Partial<ExternalTask> = {}): ExternalTask {
  return {
    taskId,
    sessionId: 's',
    lane: 'execute',
    commandType: 'bash',
    payload: {},
    timeoutMs: 60_000,
    attempt: 1,
    idempotent: false,
    ...more,
  }
}

const limits = { timeoutMs: 60_000 }
const done = { success: true, result: 'ok' }

async function claimOne(board: LocalBoard, more: object = {}): Promise<ClaimedTask> {
  const [one] = await board.claim({ worker: 'w', max: 1, waitMs: 1_000, announcesStart: true, ...more })
  if (one === undefined) throw new Error('nothing to do')
  return one
}

describe('a board of tasks', () => {
  it('gives each task to one worker, in the order they were offered', async () => {
    const board = openBoard()
    const ends = ['a', 'b', 'c'].map((id) => board.offer(task(id), limits))
    const first = await board.claim({ worker: 'w1', max: 2, waitMs: 0 })
    const second = await board.claim({ worker: 'w2', max: 9, waitMs: 0 })
    expect(first.map(({ taskId }) => taskId)).toEqual(['a', 'b'])
    expect(second.map(({ taskId }) => taskId)).toEqual(['c'])
    for (const { taskId, leaseId } of [...first, ...second]) await board.complete(taskId, leaseId, done)
    expect(await Promise.all(ends)).toEqual([1, 2, 3].map(() => ({ how: 'completed', completion: done })))
    expect(board.list()).toEqual([])
  })

  it('wakes the worker that waits for such a task, and no other', async () => {
    const board = openBoard()
    const other = board.claim({ worker: 'w1', max: 1, waitMs: 30_000, tools: ['git'] })
    const right = board.claim({ worker: 'w2', max: 1, waitMs: 30_000, lanes: ['execute'], tools: ['bash'] })
    void board.offer(task('a'), limits)
    expect((await right).map(({ taskId }) => taskId)).toEqual(['a'])
    board.close()
    expect(await other).toEqual([])
  })

  it('accepts a result once, and the same worker can send it again', async () => {
    const board = openBoard()
    const end = board.offer(task('a'), limits)
    const { leaseId } = await claimOne(board)
    expect(await board.complete('a', leaseId, done)).toBe('accepted')
    expect(await board.complete('a', leaseId, { success: false })).toBe('duplicate')
    expect(await board.complete('a', 'lease-9', done)).toBe('gone')
    expect(await board.complete('a', undefined, done)).toBe('gone')
    expect(await end).toEqual({ how: 'completed', completion: done })
  })

  it('rejects a late result after the lease has expired', async () => {
    const board = openBoard(20)
    const lost = board.offer(task('a'), limits)
    const first = await claimOne(board)
    expect(await board.start('a', first.leaseId)).toBe(true)
    expect(await lost).toEqual({ how: 'lost', began: true })
    const again = board.offer(task('a', { attempt: 2 }), limits)
    const second = await claimOne(board)
    expect(await board.complete('a', first.leaseId, done)).toBe('late')
    expect(await board.start('a', first.leaseId)).toBe(false)
    expect(await board.complete('a', second.leaseId, done)).toBe('accepted')
    expect(await again).toMatchObject({ how: 'completed' })
  })

  it('recognises a task that was taken and never started', async () => {
    const board = openBoard(20)
    const lost = board.offer(task('a'), limits)
    await claimOne(board)
    expect(await lost).toEqual({ how: 'lost', began: false })
  })

  it('counts a task as started when the worker does not say so', async () => {
    const board = openBoard(20)
    const lost = board.offer(task('a'), limits)
    await claimOne(board, { announcesStart: false })
    expect(await lost).toEqual({ how: 'lost', began: true })
  })

  it('keeps a lease as long as the worker renews it', async () => {
    const board = openBoard(60)
    let over = false
    const end = board.offer(task('a'), limits).then((ending) => {
      over = true
      return ending
    })
    const { leaseId } = await claimOne(board)
    for (let beat = 0; beat < 6; beat++) {
      await new Promise((resolve) => setTimeout(resolve, 20))
      expect(
        await board.renew([
          { taskId: 'a', leaseId },
          { taskId: 'x', leaseId },
        ]),
      ).toEqual(['x'])
    }
    expect(over).toBe(false)
    expect(await end).toEqual({ how: 'lost', began: false })
  })

  it('reads the messages of a worker before it ends its lease, when this process was blocked', async () => {
    const board = openBoard(40)
    const end = board.offer(task('a'), limits)
    const { leaseId } = await claimOne(board)
    const heard = new Promise((resolve) =>
      setImmediate(() => resolve(board.renew([{ taskId: 'a', leaseId }]))),
    )
    for (const until = performance.now() + 80; performance.now() < until; );
    expect(await heard).toEqual([])
    await board.complete('a', leaseId, done)
    expect(await end).toMatchObject({ how: 'completed' })
  })

  it('ends the started tasks of a worker that disconnected, and queues those that were not started again', async () => {
    const board = openBoard()
    const ends = [board.offer(task('a'), limits), board.offer(task('b'), limits)]
    const a = await claimOne(board)
    const b = await claimOne(board, { worker: 'other' })
    expect(await board.release('b', 'lease-9')).toBe(false)
    expect(await board.release('b', b.leaseId)).toBe(true)
    await board.start('a', a.leaseId)
    expect(await board.release('a', a.leaseId)).toBe(false)
    await board.abandon('w')
    expect(await Promise.all(ends)).toEqual([
      { how: 'lost', began: true },
      { how: 'released', began: false },
    ])
  })

  it('ends at the time limit and when the signal is aborted', async () => {
    const board = openBoard()
    const stop = new AbortController()
    const late = board.offer(task('a'), { timeoutMs: 10 })
    const stopped = board.offer(task('b'), { ...limits, signal: stop.signal })
    stop.abort()
    expect(await late).toEqual({ how: 'timeout', began: false })
    expect(await stopped).toEqual({ how: 'aborted', began: false })
    expect(board.list()).toEqual([])
  })

  it('neither lists nor hands out a task of an earlier process, and completes only one that was started', async () => {
    const board = openBoard()
    const lease = { id: 'lease-before', worker: 'w' }
    const held = board.offer(task('a'), limits, { lease: undefined, began: false })
    const begun = board.offer(task('b'), limits, { lease, began: true })
    expect(board.list()).toEqual([])
    expect(await board.claim({ worker: 'w', max: 9, waitMs: 0 })).toEqual([])
    expect(await board.complete('a', undefined, done)).toBe('gone')
    expect(await board.complete('b', lease.id, done)).toBe('accepted')
    expect(await begun).toEqual({ how: 'completed', completion: done })
    const offered = board.offer(task('a'), limits)
    expect(await held).toEqual({ how: 'aborted', began: false })
    expect(board.list()).toEqual([task('a')])
    expect(await board.complete('a', undefined, done)).toBe('accepted')
    expect(await offered).toEqual({ how: 'completed', completion: done })
  })

  it('ends tasks that are offered after it was closed', async () => {
    const board = openBoard()
    board.close()
    expect(await board.offer(task('a'), limits)).toEqual({ how: 'aborted', began: false })
  })

  it('gives no task to a worker that disconnected while it waited', async () => {
    const board = openBoard()
    const gone = new AbortController()
    const claim = board.claim({ worker: 'w', max: 1, waitMs: 30_000, signal: gone.signal })
    gone.abort()
    expect(await claim).toEqual([])
    void board.offer(task('a'), limits)
    expect((await claimOne(board)).taskId).toBe('a')
    board.close()
  })
})
