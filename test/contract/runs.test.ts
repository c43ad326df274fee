import { describe, expect, it } from 'vitest'
import type { RunEvent } from '../../src/session/run-events.js'
import { bash, calls, later, openSession } from './open-session.js'

async function take(events: AsyncIterable<RunEvent>, most = Number.POSITIVE_INFINITY): Promise<RunEvent[]> {
  const taken: RunEvent[] = []
  for await (const event of events) {
    taken.push(event)
    if (taken.length >= most) break
  }
  return taken
}

describe('runs', () => {
  it('are recorded with prompt, status, result and events', async () => {
    const { session } = await openSession(['hello', { status: 400, message: 'no' }])
    await session.send('first')
    await session.send('second').catch(() => undefined)
    const [one, two] = await session.runs()
    expect(one).toMatchObject({
      sessionId: session.sessionId,
      status: 'completed',
      prompt: 'first',
      resultText: 'hello',
    })
    expect(two).toMatchObject({ status: 'failed', error: expect.stringContaining('no') })
    expect(await session.runSnapshot(one?.id ?? '')).toEqual(one)
    const events = await session.runEvents(one?.id ?? '')
    expect(events).toHaveLength(one?.eventCount ?? 0)
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, at) => at + 1))
    expect(events[0]?.event).toMatchObject({ type: 'agent_start', prompt: 'first' })
    expect(events.at(-1)?.event.type).toBe('agent_end')
    expect(events.every(({ timestampMs }) => timestampMs > 0)).toBe(true)
  })

  it('return null and nothing for an unknown id', async () => {
    const { session } = await openSession([])
    expect(await session.runSnapshot('x')).toBeNull()
    expect(await session.runEvents('x')).toEqual([])
    expect(await session.cancelRun('x')).toBe(false)
    expect(await take(session.watch('x'))).toEqual([])
  })

  it('have a current one that is running while it runs, and null when idle', async () => {
    const gate = later()
    const { server, session } = await openSession(async () => {
      await gate.promise
      return 'ok'
    })
    const running = session.send('x')
    expect(await session.currentRun()).toMatchObject({ status: 'running', prompt: 'x' })
    await server.request(0)
    gate.resolve()
    await running
    expect(await session.currentRun()).toBeNull()
  })

  it('can be cancelled by id, active or queued', async () => {
    const { server, session } = await openSession(() => ({ stall: true }))
    const first = session.send('a').catch((error: Error) => error)
    const second = session.send('b').catch((error: Error) => error)
    await server.request(0)
    const [one, two] = await session.runs()
    expect(await session.cancelRun(two?.id ?? '')).toBe(true)
    expect(await second).toMatchObject({ code: 'cancelled' })
    expect(await session.cancelRun(one?.id ?? '')).toBe(true)
    expect(await first).toMatchObject({ code: 'cancelled' })
    expect(await session.cancelRun(one?.id ?? '')).toBe(false)
  })
})

describe('traceEvents', () => {
  it('record each call and its outcome, without its texts', async () => {
    const { session } = await openSession(
      [calls(['read', { file_path: 'a.txt' }]), bash('touch b.txt'), 'x'],
      {},
      {
        'a.txt': 'secret words',
      },
    )
    await session.send('x')
    await session.bash('exit 3').catch(() => undefined)
    const trace = session.traceEvents()
    expect(trace).toMatchObject([
      { kind: 'tool_execution', name: 'read', origin: 'model', success: true, exitCode: 0, endedAt: 'done' },
      { name: 'bash', origin: 'model', success: false, endedAt: 'approval' },
      { name: 'bash', origin: 'host', exitCode: 3 },
    ])
    expect(JSON.stringify(trace)).not.toContain('secret words')
  })

  it('are kept up to a limit, the newest', async () => {
    const { session } = await openSession([], { retentionLimits: { maxTraceEvents: 3 } }, { 'a.txt': 'a' })
    for (const command of ['a', 'b', 'c', 'd', 'e']) await session.tool('ls', { path: command })
    expect(session.traceEvents()).toHaveLength(3)
  })
})

describe('watch', () => {
  it('serves several readers; one that leaves cancels nothing', async () => {
    const gate = later()
    const { session } = await openSession(async (_, n) => {
      if (n === 1) await gate.promise
      return n === 0 ? calls(['ls', { path: '.' }]) : 'done'
    })
    const running = session.send('x')
    const id = (await session.currentRun())?.id ?? ''
    const whole = take(session.watch(id))
    const some = await take(session.watch(id), 2)
    expect(some.map(({ sequence }) => sequence)).toEqual([1, 2])
    gate.resolve()
    expect((await running).text).toBe('done')
    expect(await whole).toEqual(await session.runEvents(id))
  })

  it('resumes at a sequence number and returns exactly the rest', async () => {
    const gate = later()
    const { session } = await openSession(async () => {
      await gate.promise
      return 'one two three'
    })
    const running = session.send('x')
    const id = (await session.currentRun())?.id ?? ''
    const before = await take(session.watch(id), 1)
    const after = take(session.watch(id, { from: before.at(-1)?.sequence ?? 0 }))
    gate.resolve()
    await running
    expect([...before, ...(await after)]).toEqual(await session.runEvents(id))
  })

  it('ends when its signal is aborted', async () => {
    const { session, server } = await openSession(() => ({ stall: true }))
    const running = session.send('x').catch(() => undefined)
    const id = (await session.currentRun())?.id ?? ''
    const controller = new AbortController()
    const watched = take(session.watch(id, { signal: controller.signal }))
    await server.request(0)
    controller.abort()
    expect((await watched).length).toBeGreaterThan(0)
    expect((await session.currentRun())?.status).toBe('running')
    session.cancel()
    await running
  })

  it('reports how many events were missed when they were dropped', async () => {
    const words = Array.from({ length: 200 }, (_, at) => `w${at} `)
    const { session } = await openSession([{ deltas: words }], { retentionLimits: { maxEventsPerRun: 10 } })
    const { runId } = await session.send('x')
    const kept = await session.runEvents(runId)
    expect(kept).toHaveLength(10)
    const snapshot = await session.runSnapshot(runId)
    const watched = await take(session.watch(runId))
    const [first, ...rest] = watched
    expect(rest).toEqual(kept)
    expect(first?.event).toEqual({ type: 'events_missed', count: (snapshot?.eventCount ?? 0) - 10 })
  })
})

describe('retention', () => {
  it('drops the oldest runs first, and never an active one', async () => {
    const gate = later()
    const { session, server } = await openSession(
      async ({ body }) => {
        if (JSON.stringify(body).includes('run 4')) await gate.promise
        return 'ok'
      },
      { retentionLimits: { maxRuns: 2 } },
    )
    for (const n of [1, 2, 3]) await session.send(`run ${n}`)
    expect((await session.runs()).map(({ prompt }) => prompt)).toEqual(['run 2', 'run 3'])
    const running = session.send('run 4')
    await server.request(3)
    const waiting = [session.send('run 5'), session.send('run 6')]
    expect((await session.runs()).map(({ prompt }) => prompt)).toEqual(['run 4', 'run 5', 'run 6'])
    gate.resolve()
    await Promise.all([running, ...waiting])
    await session.send('run 7')
    expect((await session.runs()).map(({ prompt }) => prompt)).toEqual(['run 6', 'run 7'])
  })
})
