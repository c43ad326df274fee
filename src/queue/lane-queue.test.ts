import { describe, expect, it } from 'vitest'
import type { QueueEvent } from '../loop/events.js'
import type { PartRow } from '../store/records.js'
import { type Envelope, errorEnvelope, outputEnvelope } from '../tool/envelope.js'
import { readQueueConfig } from './config.js'
import type { ClaimedTask } from './engine.js'
import { LaneQueue, type QueuedCall } from './lane-queue.js'
import { LocalEngine } from './local-engine.js'
import { QueueLog } from './queue-log.js'

function openQueue(config: object = {}, parts: Partial<ConstructorParameters<typeof LaneQueue>[0]> = {}) {
  const settings = readQueueConfig({
    enableDlq: true,
    enableMetrics: true,
    retryPolicy: { initialDelayMs: 1, maxRetries: 2 },
    ...config,
  })
  let count = 0
  const events: QueueEvent[] = []
  const engine = new LocalEngine(settings, () => `lease-${++count}`)
  const queue = new LaneQueue({
    sessionId: 's',
    settings,
    engine,
    emit: (event) => events.push(event),
    now: () => 1_000,
    ...parts,
  })
  return { queue, events, board: engine.board, types: () => events.map(({ type }) => type) }
}

function call(more: Partial<QueuedCall> = {}): QueuedCall {
  return {
    toolName: 'deploy',
    args: '{"to":"x"}',
    lane: 'execute',
    idempotent: false,
    starting: () => undefined,
    ...more,
  }
}

const slow = errorEnvelope('too slow', { timed_out: true })
const external = { laneHandlers: { execute: { mode: 'external', timeoutMs: 5_000 } } }

describe('a call in a lane', () => {
  it('is run once when it answers, also with an error', async () => {
    const { queue, types } = openQueue()
    let runs = 0
    const run = async (envelope: Envelope): Promise<Envelope> => {
      runs++
      return envelope
    }
    expect(await queue.pass(call(), () => run(outputEnvelope('a')))).toMatchObject({ data: 'a' })
    const wrong = await queue.pass(call({ idempotent: true }), () => run(errorEnvelope('no such file')))
    expect(wrong).toMatchObject({ error_text: 'no such file' })
    expect(runs).toBe(2)
    expect(types()).toEqual([])
  })

  it('is retried when it got no answer and its tool is idempotent, and then becomes a dead letter', async () => {
    const { queue, events } = openQueue()
    let runs = 0
    const ended = await queue.pass(call({ idempotent: true }), async () => {
      runs++
      return slow
    })
    expect(runs).toBe(3)
    expect(ended).toMatchObject({ error_text: 'too slow' })
    const command = { commandId: 's-1', commandType: 'deploy', lane: 'execute' }
    expect(events).toEqual([
      { type: 'command_retry', ...command, attempt: 1, delayMs: 1 },
      { type: 'command_retry', ...command, attempt: 2, delayMs: 2 },
      { type: 'command_dead_lettered', ...command, error: 'too slow', attempts: 3 },
    ])
    expect(queue.deadLetters?.list()).toEqual([
      {
        ...command,
        payload: { to: 'x' },
        error: 'too slow',
        attempts: 3,
        failedAt: 1_000,
        mayHaveRun: false,
      },
    ])
  })

  it('is never run twice when its tool is not idempotent', async () => {
    const { queue } = openQueue()
    let runs = 0
    await queue.pass(call(), async () => {
      runs++
      return slow
    })
    expect(runs).toBe(1)
    expect(queue.deadLetters?.list()).toMatchObject([{ attempts: 1, mayHaveRun: true }])
  })

  it('does not wait for a free slot inside another call that has one', async () => {
    const { queue } = openQueue({ executeConcurrency: 1 })
    const outer = await queue.pass(call(), () =>
      queue.pass(call({ toolName: 'inner' }), async () => outputEnvelope('inside')),
    )
    expect(outer).toMatchObject({ data: 'inside' })
  })

  it('ends when the run is aborted while it waits, and does not start', async () => {
    const { queue } = openQueue({ executeConcurrency: 1 })
    let open: () => void = () => undefined
    const first = queue.pass(
      call(),
      () => new Promise((resolve) => (open = () => resolve(outputEnvelope('first')))),
    )
    const stop = new AbortController()
    let ran = false
    const second = queue.pass(call({ signal: stop.signal }), async () => {
      ran = true
      return outputEnvelope('second')
    })
    stop.abort()
    expect(await second).toMatchObject({ error_text: expect.stringContaining('was not run') })
    open()
    await first
    expect(ran).toBe(false)
    const metrics = await queue.metrics()
    expect(metrics?.counters).toMatchObject({
      'lane.commands.submitted': 2,
      'lane.commands.completed': 1,
      'lane.commands.cancelled': 1,
    })
  })

  it('fails when the record before its start fails', async () => {
    const { queue, types } = openQueue(external)
    const starting = async (): Promise<void> => {
      throw new Error('the log is full')
    }
    await expect(queue.pass(call({ starting }), async () => outputEnvelope(''))).rejects.toThrow(
      'the log is full',
    )
    expect(types()).toEqual([])
    expect((await queue.stats()).totalActive).toBe(0)
  })

  it('that may not start is no task for a later process', async () => {
    const notes: PartRow['content'][] = []
    const log = new QueueLog({
      note: async (note) => {
        notes.push(note)
      },
    })
    const { queue } = openQueue(external, { log, savesTasks: true })
    const starting = async (): Promise<void> => {
      throw new Error('it is denied now')
    }
    await expect(queue.pass(call({ starting }), async () => outputEnvelope(''))).rejects.toThrow('denied now')
    expect(notes).toMatchObject([{ state: 'offered' }, { state: 'ended', taskId: 's-1' }])
  })

  it('that may not start is reported as ended', async () => {
    const { queue, events } = openQueue()
    queue.setHandler('execute', { mode: 'hybrid', timeoutMs: 10 })
    await expect(queue.pass(call(), () => Promise.reject(new Error('it is denied now')))).rejects.toThrow()
    expect(events).toMatchObject([
      { type: 'external_task_pending', taskId: 's-1' },
      { type: 'external_task_completed', taskId: 's-1', success: false },
    ])
  })

  it('reports when too many calls wait in a lane', async () => {
    const { queue, events } = openQueue({ enableAlerts: true, pressureThreshold: 2, executeConcurrency: 1 })
    const all = Array.from({ length: 8 }, () => queue.pass(call(), async () => outputEnvelope('')))
    await Promise.all(all)
    expect(events.map((event) => (event.type === 'queue_alert' ? event.level : ''))).toEqual([
      'warning',
      'critical',
    ])
  })
})

describe('a call for a remote worker', () => {
  async function claim(board: LocalEngine['board'], announcesStart = true): Promise<ClaimedTask> {
    const [task] = await board.claim({ worker: 'w', max: 1, waitMs: 5_000, announcesStart })
    if (task === undefined) throw new Error('nothing to do')
    return task
  }

  it('is run by a worker, whose result is untrusted data', async () => {
    const { queue, board, events } = openQueue(external)
    let starts = 0
    const ended = queue.pass(call({ starting: () => void starts++ }), () =>
      Promise.reject(new Error('never')),
    )
    const { taskId, leaseId, payload } = await claim(board)
    expect({ taskId, payload, starts }).toEqual({ taskId: 's-1', payload: { to: 'x' }, starts: 1 })
    expect((await queue.stats()).externalPending).toBe(1)
    const metadata = { untrusted: false, output_path: '/etc/passwd' }
    await board.complete(taskId, leaseId, {
      success: true,
      result: { output: 'fine\u200b', exit_code: 3, metadata },
    })
    expect(await ended).toMatchObject({
      data: 'fine',
      metadata: { duration_ms: 0, untrusted: true, ran_on: 'worker', exit_code: 3 },
    })
    expect(JSON.stringify(await ended)).not.toContain('passwd')
    expect(events).toMatchObject([
      { type: 'external_task_pending', taskId: 's-1', commandType: 'deploy', timeoutMs: 5_000 },
      { type: 'external_task_completed', taskId: 's-1', success: true },
    ])
  })

  it('goes to another worker when the first disconnects before it started', async () => {
    const { queue, board, types } = openQueue({ ...external, leaseMs: 20 })
    const ended = queue.pass(call(), () => Promise.reject(new Error('never')))
    await claim(board)
    const { taskId, leaseId, attempt } = await claim(board)
    expect({ taskId, attempt }).toEqual({ taskId: 's-1', attempt: 2 })
    await board.complete(taskId, leaseId, { success: true, result: { ok: true } })
    expect(await ended).toMatchObject({ data: { ok: true } })
    expect(types()).toEqual([
      'external_task_pending',
      'command_retry',
      'external_task_pending',
      'external_task_completed',
    ])
  })

  it('does not go to another worker if it may not start any more', async () => {
    const { queue, board } = openQueue({ ...external, leaseMs: 20 })
    let starts = 0
    const starting = (): void => {
      if (++starts > 1) throw new Error('it is denied now')
    }
    const ended = queue.pass(call({ starting }), () => Promise.reject(new Error('never')))
    ended.catch(() => undefined)
    await claim(board)
    await expect(ended).rejects.toThrow('it is denied now')
    expect(await board.pending()).toEqual([])
  })

  it('is not given to another worker when it may have started, unless its tool is idempotent', async () => {
    const { queue, board } = openQueue({ ...external, leaseMs: 20 })
    const once = queue.pass(call(), () => Promise.reject(new Error('never')))
    await board.start('s-1', (await claim(board)).leaseId)
    expect(await once).toMatchObject({ error_text: expect.stringContaining('its outcome is unknown') })
    const twice = queue.pass(call({ idempotent: true }), () => Promise.reject(new Error('never')))
    await claim(board, false)
    const { taskId, leaseId } = await claim(board, false)
    await board.complete(taskId, leaseId, { success: true, result: 2 })
    expect(await twice).toMatchObject({ data: 2 })
  })

  it('fails with the error of the worker', async () => {
    const { queue, board } = openQueue(external)
    const ended = queue.pass(call(), () => Promise.reject(new Error('never')))
    const { taskId, leaseId } = await claim(board)
    await board.complete(taskId, leaseId, { success: false })
    expect(await ended).toMatchObject({
      error_text: 'Tool "deploy" failed on a worker: External task failed',
    })
  })

  it('fails when no worker takes it in time', async () => {
    const { queue } = openQueue({ laneHandlers: { execute: { mode: 'external', timeoutMs: 10 } } })
    const ended = await queue.pass(call({ idempotent: true }), () => Promise.reject(new Error('never')))
    expect(ended).toMatchObject({
      error_text: 'Tool "deploy": it was not run: no worker started it within 10 ms.',
    })
    expect(queue.deadLetters?.list()).toMatchObject([{ attempts: 1, mayHaveRun: false }])
  })

  it('runs in this process and is reported in a lane whose mode is hybrid, and stays here when it must', async () => {
    const { queue, events, board } = openQueue()
    queue.setHandler('execute', { mode: 'hybrid', timeoutMs: 10 })
    expect(await queue.pass(call(), async () => outputEnvelope('here'))).toMatchObject({ data: 'here' })
    expect(events).toMatchObject([
      { type: 'external_task_pending' },
      { type: 'external_task_completed', success: true },
    ])
    expect(await board.pending()).toEqual([])
    queue.setHandler('execute', { mode: 'external', timeoutMs: 10 })
    const stays = await queue.pass(call({ staysHere: true }), async () => outputEnvelope('here'))
    expect(stays).toMatchObject({ data: 'here' })
  })
})

describe('the figures', () => {
  it('add up to the same total', async () => {
    const { queue } = openQueue({ executeConcurrency: 8, retryPolicy: { initialDelayMs: 0, maxRetries: 1 } })
    const stop = new AbortController()
    await Promise.all(
      Array.from({ length: 300 }, (_, at) => {
        const kind = at % 3
        let runs = 0
        return queue.pass(
          call({
            idempotent: true,
            lane: at % 2 ? 'query' : 'execute',
            ...(at === 299 && { signal: stop.signal }),
          }),
          async () => {
            if (at === 299) stop.abort()
            return kind === 0 && ++runs < 3 ? slow : outputEnvelope(at)
          },
        )
      }),
    )
    const { counters, gauges, histograms } = (await queue.metrics()) ?? {}
    const of = (what: string): number => counters?.[`lane.commands.${what}`] ?? 0
    expect(of('submitted')).toBe(300)
    expect(of('completed') + of('failed') + of('cancelled')).toBe(300)
    expect({ failed: of('failed'), dead: of('dead_lettered'), retried: of('retried') }).toEqual({
      failed: 100,
      dead: 100,
      retried: 100,
    })
    expect(of('submitted.query') + of('submitted.execute')).toBe(300)
    expect(Object.values(gauges ?? {}).every((value) => value === 0)).toBe(true)
    const counts = ['query', 'execute'].map(
      (lane) => histograms?.[`lane.commands.duration_ms.${lane}`]?.count ?? 0,
    )
    expect((counts[0] ?? 0) + (counts[1] ?? 0)).toBe(300 + of('retried'))
    const figures = histograms?.['lane.commands.duration_ms.query']
    expect(figures?.mean).toBeCloseTo((figures?.sum ?? 0) / (figures?.count ?? 1))
    expect(figures?.p50).toBeLessThanOrEqual(figures?.p99 ?? 0)
    expect(figures?.p99).toBeLessThanOrEqual((figures?.max ?? 0) * 1.02)
  })
})
