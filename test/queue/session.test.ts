import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createTool, workOnQueue } from '../../src/index.js'
import {
  calls,
  collect,
  eventsOf,
  ofType,
  openSession,
  toolResults,
  until,
  whenDone,
} from '../contract/open-session.js'

describe('a session with lanes', () => {
  it('has them only with queueConfig', async () => {
    const { session } = await openSession([])
    expect(session.hasQueue()).toBe(false)
    await expect(session.setLaneHandler('execute', { mode: 'external' })).rejects.toMatchObject({
      code: 'queue_not_configured',
    })
    expect(await session.pendingExternalTasks()).toEqual([])
    expect(await session.completeExternalTask('missing', { success: true })).toBe(false)
    expect(await session.queueMetrics()).toBeNull()
    expect(await session.deadLetters()).toEqual([])
  })

  it('answers every question of the guide', async () => {
    const { session } = await openSession([], { queueConfig: { enableDlq: true, enableMetrics: true } })
    expect(session.hasQueue()).toBe(true)
    await session.setLaneHandler('execute', { mode: 'external', timeoutMs: 1000 })
    expect(await session.pendingExternalTasks()).toEqual([])
    expect(await session.completeExternalTask('missing', { success: true, result: { ok: true } })).toBe(false)
    expect(await session.queueStats()).toMatchObject({ totalPending: 0, totalActive: 0, externalPending: 0 })
    expect(await session.queueMetrics()).toMatchObject({ counters: {}, histograms: {} })
    expect(await session.deadLetters()).toEqual([])
    await expect(session.setLaneHandler('main' as never, { mode: 'external' })).rejects.toThrow(
      "Invalid lane 'main'. Must be: control, query, execute, or generate",
    )
    await expect(session.setLaneHandler('query', { mode: 'far' as never })).rejects.toThrow(
      "Invalid handler mode 'far'. Must be: internal, external, or hybrid",
    )
  })

  it('rejects an invalid configuration', async () => {
    await expect(openSession([], { queueConfig: { queryConcurrency: -1 } })).rejects.toThrow(
      'queueConfig: queryConcurrency must be a whole number of at least 1',
    )
  })

  it('runs calls in this process as before, and counts them', async () => {
    const { session } = await openSession([], { queueConfig: { enableMetrics: true } }, { 'a.txt': 'alpha' })
    expect(await session.readFile('a.txt')).toBe('alpha')
    expect(await session.bash('echo hi')).toContain('hi')
    const { counters } = (await session.queueMetrics()) ?? {}
    expect(counters).toMatchObject({
      'lane.commands.submitted.query': 1,
      'lane.commands.completed.execute': 1,
    })
  })

  it("gives the model's calls to workers, and treats their results as untrusted data", async () => {
    const { session, server } = await openSession([calls(['bash', { command: 'uname' }]), { text: 'done' }], {
      queueConfig: { laneHandlers: { execute: { mode: 'external' } } },
      permissionPolicy: { allow: ['bash(uname)'] },
    })
    const stream = await session.stream('Go.')
    const pending = await until(stream, 'external_task_pending')
    expect(pending).toMatchObject({ lane: 'execute', commandType: 'bash', payload: { command: 'uname' } })
    const [task] = await session.pendingExternalTasks()
    expect(task).toMatchObject({ id: pending.taskId, taskId: pending.taskId, commandType: 'bash' })
    const long = 'x'.repeat(300_000)
    const result = { output: long, exit_code: 7, metadata: { output_path: '/etc/shadow', untrusted: false } }
    expect(await session.completeExternalTask(pending.taskId, { success: true, result })).toBe(true)
    expect(await session.completeExternalTask(pending.taskId, { success: true, result })).toBe(false)
    const rest = await collect(stream)
    const [ended] = ofType(rest, 'tool_end')
    expect(ended).toMatchObject({
      isError: false,
      metadata: { untrusted: true, truncated: true, exit_code: 7 },
    })
    expect(ended?.metadata['output_path']).not.toBe('/etc/shadow')
    expect(ofType(rest, 'external_task_completed')).toMatchObject([{ success: true }])
    expect(toolResults(server, 1)[0]?.length).toBeLessThan(250_000)
  })

  it('applies the rules before a call is handed out: a denied call reaches no worker', async () => {
    const { session } = await openSession([calls(['bash', { command: 'rm -rf x' }]), { text: 'done' }], {
      queueConfig: { laneHandlers: { execute: { mode: 'external' } } },
      permissionPolicy: { deny: ['bash(rm*)'] },
    })
    const events = await eventsOf(session, 'Go.')
    expect(ofType(events, 'external_task_pending')).toEqual([])
    expect(ofType(events, 'tool_end')).toMatchObject([{ isError: true }])
  })

  it('serves workers of other processes', async () => {
    const { session } = await openSession([], {
      queueConfig: { laneHandlers: { execute: { mode: 'external' } } },
    })
    const token = 'a-token-for-this-test-alone'
    const { url } = await session.serveQueue({ token })
    const stop = new AbortController()
    const worker = workOnQueue({
      url,
      token,
      signal: stop.signal,
      handlers: { bash: (payload) => ({ output: `would run ${JSON.stringify(payload)}`, exit_code: 0 }) },
    })
    whenDone(async () => {
      stop.abort()
      await worker
    })
    expect(await session.bash('date')).toContain('would run {"command":"date"')
    await session.close()
    await expect(fetch(url)).rejects.toThrow()
  })

  it('drops the tasks of workers when it is closed, and ends the wait of a worker', async () => {
    const { session } = await openSession([], {
      queueConfig: { laneHandlers: { execute: { mode: 'external' } } },
    })
    const ended = session.tool('bash', { command: 'date' })
    while ((await session.pendingExternalTasks()).length === 0) await new Promise(setImmediate)
    await session.close()
    expect((await ended).output).toContain('aborted')
  })

  it('does not wait for itself: tools inside tools, also in a lane with one slot', async () => {
    const { session } = await openSession(
      [],
      {
        queueConfig: { queryConcurrency: 1, executeConcurrency: 1, maxConcurrency: 1 },
        tools: [
          createTool({
            name: 'outer',
            description: 'Reads through the session.',
            input: z.object({}),
            execute: async () => (await session.tool('read', { file_path: 'a.txt' })).output,
          }),
        ],
      },
      { 'a.txt': 'alpha' },
    )
    const read = { tool: 'read', args: { file_path: 'a.txt' } }
    const invocations = [read, { tool: 'outer', args: {} }, read]
    const [outer, batch] = await Promise.all([
      session.tool('outer', {}),
      session.tool('batch', { invocations }),
    ])
    expect(outer.output).toContain('alpha')
    expect(batch.output.match(/alpha/g)).toHaveLength(3)
  })

  it('retries an idempotent tool after a time-out, and no other', async () => {
    const runs: string[] = []
    const make = (name: string, idempotent: boolean) =>
      createTool({
        name,
        description: 'Hangs.',
        input: z.object({}),
        idempotent,
        execute: (_, context) => {
          runs.push(name)
          return new Promise((resolve) => context?.signal?.addEventListener('abort', () => resolve('late')))
        },
      })
    const { session } = await openSession([], {
      tools: [make('again', true), make('once', false)],
      queueConfig: { enableDlq: true, timeoutMs: 20, retryPolicy: { maxRetries: 2, initialDelayMs: 1 } },
    })
    await Promise.all([session.tool('again', {}), session.tool('once', {})])
    expect(runs.sort()).toEqual(['again', 'again', 'again', 'once'])
    const letters = await session.deadLetters()
    expect(
      letters.map(({ commandType, attempts, mayHaveRun }) => [commandType, attempts, mayHaveRun]),
    ).toEqual(
      expect.arrayContaining([
        ['again', 3, false],
        ['once', 1, true],
      ]),
    )
    const once = letters.find(({ commandType }) => commandType === 'once')
    await expect(session.retryDeadLetter(once?.commandId ?? '')).rejects.toThrow('evenIfItMayHaveRun')
    const again = await session.retryDeadLetter(once?.commandId ?? '', { evenIfItMayHaveRun: true })
    expect(again.output).toContain('did not finish within 20 ms')
    await expect(session.retryDeadLetter(once?.commandId ?? '')).rejects.toThrow('There is no dead letter')
    expect(await session.deadLetters()).toHaveLength(2)
  })

  it("puts subagents' calls into the same lanes", async () => {
    const { session } = await openSession(
      [
        calls(['task', { agent: 'general', description: 'look', prompt: 'Run it.' }]),
        calls(['bash', { command: 'uname' }]),
        { text: 'child done' },
        { text: 'done' },
      ],
      {
        queueConfig: { laneHandlers: { execute: { mode: 'external' } }, executeConcurrency: 1 },
        permissionPolicy: { allow: ['bash(uname)', 'task'] },
      },
    )
    const stream = await session.stream('Go.')
    const { taskId, commandType } = await until(stream, 'external_task_pending')
    expect(commandType).toBe('bash')
    await session.completeExternalTask(taskId, { success: true, result: 'Linux' })
    const rest = await collect(stream)
    expect(ofType(rest, 'subagent_end')).toMatchObject([{ success: true }])
  })
})
