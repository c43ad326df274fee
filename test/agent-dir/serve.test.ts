import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { SessionClosedError } from '../../src/session/errors.js'
import { FileSessionStore } from '../../src/store/file/file-session-store.js'
import { foldSession } from '../../src/store/fold-session.js'
import { MemorySessionStore } from '../../src/store/memory-store.js'
import { scriptedModel } from '../../src/testing/scripted-model.js'
import { createJsonTool } from '../../src/tool/create-json-tool.js'
import { directoryWith, EventCollector, eventually, HandClock, newAgent, putFiles } from './support.js'

const schedule = (cron: string, more = '', prompt = 'Look around.'): string =>
  `---\ncron: "${cron}"\n${more}---\n${prompt}\n`
const agentDir = (files: Readonly<Record<string, string>> = {}): Promise<string> =>
  directoryWith({ 'instructions.md': 'You are the night watch.', ...files })

/** A model that answers at once and counts. */
const counting = () => scriptedModel((_, n) => `answer ${n + 1}`)

describe('serveAgentDir', () => {
  it('fires every second, keeps its history after a restart, and stops cleanly', {
    timeout: 120_000,
  }, async () => {
    const dir = await agentDir({ 'schedules/tick.md': schedule('* * * * * *') })
    const work = await directoryWith({})
    const store = new FileSessionStore(join(await directoryWith({}), 'sessions'))
    const serve = async (count: number) => {
      const agent = await newAgent()
      const collected = new EventCollector()
      const model = counting()
      const served = await agent.serveAgentDir(dir, work, {
        sessionStore: store,
        model,
        onEvent: collected.onEvent,
      })
      expect([served.state, served.isReady(), served.isStopped()]).toEqual(['serving', true, false])
      expect(await agent.listSessions()).toEqual(['schedule:tick'])
      const reports = await collected.made(count)
      const history = served.session('tick')?.history() ?? []
      await served.stop()
      expect([served.state, served.isReady(), served.isStopped()]).toEqual(['stopped', false, true])
      expect(await agent.listSessions()).toEqual([])
      await agent.close()
      return { reports, history, model, collected }
    }
    const first = await serve(3)
    const times = first.reports.map(({ firedAtMs }) => firedAtMs)
    expect(times.every((time) => time % 1_000 === 0)).toBe(true)
    expect(new Set(times).size).toBe(times.length)
    expect(first.reports[0]).toMatchObject({
      status: 'completed',
      schedule: 'tick',
      sessionId: 'schedule:tick',
      manual: false,
      result: { text: 'answer 1' },
    })
    expect(first.collected.events.at(-1)).toEqual({ type: 'stopped' })
    const second = await serve(1)
    // What was said before is what the model is shown first.
    const shown = second.model.requests[0]?.chatHistory ?? []
    expect(shown.length).toBeGreaterThanOrEqual(7)
    expect(JSON.stringify(shown)).toContain('answer 1')
    expect(second.history.length).toBeGreaterThanOrEqual(8)
    const kept = await store.read('schedule:tick')
    const { runs, messages } = foldSession(kept?.records ?? [])
    const fired = [...runs.values()].map(({ trigger }) => trigger?.fired_at)
    expect(new Set(fired).size).toBe(fired.length)
    expect(messages[0]?.row.metadata).toEqual({
      trigger: { source: 'schedule', fired_at: times[0], schedule_id: 'tick' },
    })
  })

  it('sends the model its instructions, skills, prompt and due time', async () => {
    const dir = await agentDir({
      'schedules/tick.md': schedule('0 9 * * *', '', '/not a command\n\nWrite the report.'),
      'skills/notes/SKILL.md': '---\nname: notes\ndescription: How notes are written\n---\nShort.\n',
    })
    const clock = new HandClock('2026-05-01T08:59:30Z')
    const model = counting()
    const collected = new EventCollector()
    const agent = await newAgent()
    const work = await directoryWith({})
    const served = await agent.serveAgentDir(dir, work, {
      clock,
      model,
      onEvent: collected.onEvent,
      role: 'no',
    })
    await clock.pass(30_000)
    await collected.made(1)
    const [request] = model.requests
    expect(request?.instructions).toMatch(/^You are the night watch\./)
    expect(request?.instructions).toContain('How notes are written')
    const said = request?.chatHistory.at(-1)?.content
    expect(said).toEqual([
      { type: 'text', text: '/not a command\n\nWrite the report.' },
      {
        type: 'text',
        text: '<schedule>\nname: tick\nscheduled for: 2026-05-01T09:00:00.000Z\nnow: 2026-05-01T09:00:00.000Z\n</schedule>',
      },
    ])
    expect(served.schedules()).toMatchObject([
      {
        name: 'tick',
        running: false,
        nextFireAtMs: Date.parse('2026-05-02T09:00:00Z'),
        last: { status: 'completed' },
      },
    ])
    await served.stop()
  })

  it('skips a fire that is due while another runs, or queues one', async () => {
    const dir = await agentDir({
      'schedules/skips.md': schedule('* * * * *'),
      'schedules/waits.md': schedule('* * * * *', 'overlap: queue\n'),
    })
    const clock = new HandClock('2026-05-01T09:00:30Z')
    const collected = new EventCollector()
    const gates: (() => void)[] = []
    const model = scriptedModel(async () => {
      await new Promise<void>((open) => gates.push(open))
      return 'done'
    })
    const agent = await newAgent()
    const served = await agent.serveAgentDir(dir, await directoryWith({}), {
      clock,
      model,
      onEvent: collected.onEvent,
    })
    await clock.pass(30_000)
    await collected.until(() => collected.events.filter(({ type }) => type === 'schedule_fired').length === 2)
    await clock.pass(60_000)
    await clock.pass(60_000)
    const bySchedule = (name: string) =>
      collected.reports
        .filter((report) => report.schedule === name)
        .map(({ status, firedAtMs }) => `${status} ${new Date(firedAtMs).toISOString().slice(11, 16)}`)
    expect(bySchedule('skips')).toEqual(['skipped 09:02', 'skipped 09:03'])
    expect(bySchedule('waits')).toEqual(['skipped 09:03'])
    expect(collected.skipped()).toEqual(['overlap', 'overlap', 'overlap'])
    await eventually(() => gates.length === 2)
    for (const open of gates.splice(0)) open()
    await eventually(() => gates.length === 1)
    for (const open of gates.splice(0)) open()
    await collected.made(3)
    expect(bySchedule('waits')).toEqual(['skipped 09:03', 'completed 09:01', 'completed 09:02'])
    await served.stop()
  })

  it('handles a clock that jumps: what was due during sleep is missed, and no fire runs twice', async () => {
    const dir = await agentDir({
      'schedules/none.md': schedule('0 * * * *'),
      'schedules/last.md': schedule('0 * * * *', 'catch_up: last\n'),
    })
    const clock = new HandClock('2026-05-01T08:30:00Z')
    const collected = new EventCollector()
    const agent = await newAgent()
    const served = await agent.serveAgentDir(dir, await directoryWith({}), {
      clock,
      model: counting(),
      onEvent: collected.onEvent,
      sessionStore: new MemorySessionStore(),
    })
    const story = () =>
      collected.reports
        .splice(0)
        .map((r) => `${r.schedule} ${r.status} ${new Date(r.firedAtMs).toISOString().slice(11, 16)}`)
        .sort()
    await clock.pass(1_800_000)
    await collected.made(2)
    expect(story()).toEqual(['last completed 09:00', 'none completed 09:00'])
    // The machine slept: timers stood still, and the clock continued.
    clock.set('2026-05-01T12:20:00Z')
    await clock.pass(30_000)
    await collected.made(1)
    expect(story()).toEqual(['last completed 12:00', 'last skipped 11:00', 'none skipped 12:00'])
    // Set right by half an hour: 12:00 comes again, and was made.
    clock.set('2026-05-01T11:50:00Z')
    await clock.pass(900_000)
    expect(story()).toEqual([])
    // It was wrong by years, and nothing waits for that time to come.
    clock.set('2031-05-01T11:50:00Z')
    await clock.pass(30_000)
    await collected.until(() => collected.reports.length >= 3)
    collected.reports.splice(0)
    clock.set('2026-05-01T14:50:00Z')
    await clock.pass(660_000)
    await collected.made(2)
    expect(story()).toEqual(['last completed 15:00', 'none completed 15:00'])
    await served.stop()
  })

  it('fires once for a time that daylight saving repeats, and once for one that it skips', async () => {
    const dir = await agentDir({ 'schedules/a.md': schedule('30 2 * * *', 'time_zone: Europe/Berlin\n') })
    const agent = await newAgent()
    const fires = async (start: string): Promise<string[]> => {
      const clock = new HandClock(start)
      const collected = new EventCollector()
      const served = await agent.serveAgentDir(dir, await directoryWith({}), {
        clock,
        model: counting(),
        onEvent: collected.onEvent,
      })
      await clock.pass(6_000_000)
      await collected.made(1)
      await served.stop()
      return collected.reports.map(
        ({ status, firedAtMs }) => `${status} ${new Date(firedAtMs).toISOString()}`,
      )
    }
    expect(await fires('2026-10-25T00:10:00Z')).toEqual(['completed 2026-10-25T00:30:00.000Z'])
    expect(await fires('2026-03-29T00:10:00Z')).toEqual(['completed 2026-03-29T01:00:00.000Z'])
  })

  it('makes up for fires that were missed while no node served, when that is configured', async () => {
    const dir = await agentDir({ 'schedules/a.md': schedule('0 * * * *', 'catch_up: all\n') })
    const sessionStore = new MemorySessionStore()
    const agent = await newAgent()
    const work = await directoryWith({})
    const clock = new HandClock('2026-05-01T08:30:00Z')
    const serve = async (count: number): Promise<string[]> => {
      const collected = new EventCollector()
      const served = await agent.serveAgentDir(dir, work, {
        clock,
        model: counting(),
        onEvent: collected.onEvent,
        sessionStore,
      })
      await clock.pass(1_900_000)
      const made = await collected.made(count)
      await served.stop()
      return made.map(({ firedAtMs }) => new Date(firedAtMs).toISOString().slice(11, 16))
    }
    expect(await serve(1)).toEqual(['09:00'])
    await clock.pass(3 * 3_600_000)
    expect(await serve(3)).toEqual(['10:00', '11:00', '12:00'])
  })

  it('repeats no fire of the log on a node whose clock is slow', async () => {
    const dir = await agentDir({ 'schedules/a.md': schedule('* * * * *') })
    const sessionStore = new MemorySessionStore()
    const [work, fast, slow] = [
      await directoryWith({}),
      new HandClock('2026-05-01T09:00:50Z'),
      new HandClock('2026-05-01T09:00:20Z'),
    ]
    const node = async (clock: HandClock) => {
      const collected = new EventCollector()
      const agent = await newAgent()
      const options = { clock, sessionStore, model: counting(), onEvent: collected.onEvent }
      return { collected, served: await agent.serveAgentDir(dir, work, options) }
    }
    const one = await node(fast)
    const two = await node(slow)
    await fast.pass(15_000)
    await slow.pass(15_000)
    expect(await one.collected.made(1)).toMatchObject([{ firedAtMs: Date.parse('2026-05-01T09:01:00Z') }])
    // No node has the session any more; only its log says that 09:01 was made.
    await one.served.stop()
    await slow.pass(30_000)
    await two.collected.until(() => two.collected.reports.length > 0)
    expect(two.collected.reports).toMatchObject([
      { status: 'skipped', reason: 'elsewhere', firedAtMs: Date.parse('2026-05-01T09:01:00Z') },
    ])
    await slow.pass(60_000)
    expect(await two.collected.made(1)).toMatchObject([
      { status: 'completed', firedAtMs: Date.parse('2026-05-01T09:02:00Z') },
    ])
    expect(two.served.session('a')?.history()).toHaveLength(4)
    await two.served.stop()
  })

  it('waits for a node that holds the session, until the next fire is due', async () => {
    const dir = await agentDir({ 'schedules/a.md': schedule('* * * * *') })
    const sessionStore = new MemorySessionStore()
    const clock = new HandClock('2026-05-01T09:00:50Z')
    const collected = new EventCollector()
    const agent = await newAgent()
    const options = { clock, sessionStore, model: counting(), onEvent: collected.onEvent }
    const log = await sessionStore.open('schedule:a', { holder: 'another node', now: () => 0 })
    const served = await agent.serveAgentDir(dir, await directoryWith({}), options)
    await expect(served.runNow('a')).resolves.toMatchObject({
      status: 'failed',
      error: { code: 'session_locked', message: expect.stringContaining('another node') },
    })
    await clock.pass(60_000)
    await collected.until(() => collected.skipped().length === 1)
    expect(collected.skipped()).toEqual(['elsewhere'])
    // It lets go while 09:02 is waited for.
    await clock.pass(12_000)
    await log.close()
    await clock.pass(5_000)
    const made = (await collected.made(2)).filter(({ manual }) => !manual)
    expect(made).toMatchObject([{ status: 'completed', firedAtMs: Date.parse('2026-05-01T09:02:00Z') }])
    await served.stop()
  })

  it('spreads fires by their jitter, and never beyond it', async () => {
    const dir = await agentDir({ 'schedules/a.md': schedule('0 * * * *', 'jitter_ms: 600000\n') })
    const clock = new HandClock('2026-05-01T08:59:00Z')
    const collected = new EventCollector()
    const agent = await newAgent()
    const served = await agent.serveAgentDir(dir, await directoryWith({}), {
      clock,
      model: counting(),
      onEvent: collected.onEvent,
    })
    for (let hour = 0; hour < 5; hour++) await clock.pass(3_600_000)
    const made = await collected.made(5)
    const late = made.map(({ startedAtMs, firedAtMs }) => startedAtMs - firedAtMs)
    expect(late.every((ms) => ms >= 0 && ms <= 600_000)).toBe(true)
    expect(new Set(late).size).toBeGreaterThan(2)
    await served.stop()
  })

  it('reports results and failures to the host, and continues after both', async () => {
    const dir = await agentDir({ 'schedules/a.md': schedule('0 0 1 1 *') })
    const collected = new EventCollector()
    const given: string[] = []
    const agent = await newAgent()
    const served = await agent.serveAgentDir(dir, await directoryWith({}), {
      model: scriptedModel([{ error: new Error('the provider is down') }, 'well again', 'and again']),
      retry: { maxRetries: 0 },
      onEvent: collected.onEvent,
      onResult: (report) => {
        given.push(report.status)
        throw new Error('the host is down, too')
      },
    })
    expect(await served.runNow('a')).toMatchObject({
      status: 'failed',
      manual: true,
      error: { message: expect.stringContaining('the provider is down') },
    })
    expect(await served.runNow('a')).toMatchObject({ status: 'completed', result: { text: 'well again' } })
    expect(given).toEqual(['failed', 'completed'])
    await collected.until(() => collected.events.some(({ type }) => type === 'notice'))
    expect(collected.events).toContainEqual({
      type: 'notice',
      schedule: 'a',
      message: 'onResult failed: the host is down, too',
    })
    await expect(served.runNow('b')).rejects.toMatchObject({ code: 'schedule_unknown' })
    await served.stop()
    await expect(served.runNow('a')).rejects.toMatchObject({ code: 'schedule_stopped' })
  })

  it('lets a running fire end when it stops, up to its time limit', async () => {
    const dir = await agentDir({ 'schedules/a.md': schedule('0 0 1 1 *') })
    const agent = await newAgent()
    const work = await directoryWith({})
    let open: (() => void) | undefined
    const served = await agent.serveAgentDir(dir, work, {
      model: scriptedModel(async () => {
        await new Promise<void>((resolve) => {
          open = resolve
        })
        return 'finished'
      }),
    })
    const running = served.runNow('a')
    await eventually(() => open !== undefined)
    const queued = served.runNow('a')
    const stopping = served.stop()
    expect(served.state).toBe('stopping')
    open?.()
    expect(await running).toMatchObject({ status: 'completed', result: { text: 'finished' } })
    expect(await queued).toMatchObject({ status: 'skipped', reason: 'stopped' })
    await stopping
    const hanging = await agent.serveAgentDir(dir, work, { model: scriptedModel([{ hang: true }]) })
    const collected = new EventCollector()
    hanging.on(collected.onEvent)
    const cut = hanging.runNow('a')
    await collected.until(() => collected.events.some(({ type }) => type === 'schedule_fired'))
    await hanging.stop({ drainMs: 0 })
    expect(await cut).toMatchObject({ status: 'cancelled', error: expect.any(SessionClosedError) })
  })

  it('ends with its agent, and with its signal', async () => {
    const dir = await agentDir({ 'schedules/a.md': schedule('* * * * *') })
    const agent = await newAgent()
    const work = await directoryWith({})
    const controller = new AbortController()
    const served = await agent.serveAgentDir(dir, work, { model: counting(), signal: controller.signal })
    controller.abort()
    await served.stop()
    expect(served.isStopped()).toBe(true)
    const other = await agent.serveAgentDir(dir, work, { model: counting() })
    await agent.close()
    expect(other.isStopped()).toBe(true)
    await expect(agent.serveAgentDir(dir, work)).rejects.toMatchObject({ code: 'session_closed' })
  })

  it('keeps running without a schedule until it is stopped', async () => {
    const dir = await agentDir({ 'schedules/a.md': schedule('* * * * *', 'enabled: false\n') })
    const agent = await newAgent()
    const served = await agent.serveAgentDir(dir, await directoryWith({}))
    expect(served.isReady()).toBe(true)
    expect(served.schedules()).toEqual([])
    await expect(served.runNow('a')).rejects.toThrow(
      /No schedule 'a' is served: it does not exist or is disabled/,
    )
    await served.stop()
  })

  it('starts nothing of an invalid directory', async () => {
    const dir = await agentDir({ 'schedules/a.md': schedule('* * * * *'), 'tools/x.md': 'nothing' })
    const agent = await newAgent()
    const store = new MemorySessionStore()
    await expect(
      agent.serveAgentDir(dir, await directoryWith({}), { sessionStore: store, model: counting() }),
    ).rejects.toMatchObject({ code: 'agent_dir_invalid', problems: [{ file: 'tools/x.md' }] })
    expect(await agent.listSessions()).toEqual([])
    expect(await store.list()).toEqual([])
  })

  it('uses the configuration of the directory, which can only tighten the limits of the host', async () => {
    const dir = await agentDir({
      'agent.acl': 'max_tool_rounds = 90\nsessions_dir = "kept"\n',
      'schedules/a.md': schedule('0 0 1 1 *'),
    })
    const agent = await newAgent({ maxToolRounds: 1 })
    const again = { toolCalls: [{ name: 'ls', args: {} }] }
    const served = await agent.serveAgentDir(dir, await directoryWith({}), {
      model: scriptedModel([again, again, again]),
    })
    expect(await served.runNow('a')).toMatchObject({ status: 'failed', error: { name: 'MaxTurnsError' } })
    await served.stop()
    expect(await readFile(join(dir, 'kept', 'schedule%3aa', 'log.jsonl'), 'utf8')).toContain('"trigger"')
  })

  it('does not use options of an earlier time from its log', async () => {
    const dir = await agentDir({ 'schedules/a.md': schedule('0 0 1 1 *') })
    const sessionStore = new MemorySessionStore()
    const agent = await newAgent()
    const work = await directoryWith({ 'a.txt': 'one\n' })
    const write = { toolCalls: [{ name: 'write', args: { file_path: 'b.txt', content: 'x' } }] }
    const serve = async (permissionPolicy?: { allow: string[] }) => {
      const served = await agent.serveAgentDir(dir, work, {
        sessionStore,
        model: scriptedModel([write, 'done']),
        ...(permissionPolicy !== undefined && { permissionPolicy }),
      })
      await served.runNow('a')
      const trace = served.session('a')?.traceEvents() ?? []
      await served.stop()
      return JSON.stringify(trace)
    }
    await serve({ allow: ['write(*)'] })
    expect(await readFile(join(work, 'b.txt'), 'utf8')).toBe('x')
    await putFiles(work, { 'b.txt': 'kept' })
    await serve()
    expect(await readFile(join(work, 'b.txt'), 'utf8')).toBe('kept')
  })

  it('follows changes of the directory, when that is configured', async () => {
    const dir = await agentDir({
      'schedules/a.md': schedule('0 0 1 1 *', '', 'Old words.'),
      'schedules/b.md': schedule('0 0 1 1 *'),
    })
    const clock = new HandClock('2026-05-01T08:00:00Z')
    const collected = new EventCollector()
    const model = counting()
    const agent = await newAgent()
    const served = await agent.serveAgentDir(dir, await directoryWith({}), {
      clock,
      model,
      onEvent: collected.onEvent,
      reload: { intervalMs: 1_000 },
    })
    await served.runNow('a')
    await putFiles(dir, { 'schedules/a.md': schedule('61 * * * *') })
    await clock.pass(5_000)
    await collected.until(() => collected.events.some(({ type }) => type === 'reload_failed'))
    expect(collected.events.filter(({ type }) => type === 'reload_failed')).toMatchObject([
      { problems: [{ file: 'schedules/a.md', line: 2 }] },
    ])
    expect(served.schedules().map(({ name }) => name)).toEqual(['a', 'b'])
    await putFiles(dir, {
      'instructions.md': 'You are the day watch.',
      'schedules/a.md': schedule('*/5 * * * *', '', 'New words.'),
      'schedules/b.md': schedule('0 0 1 1 *', 'enabled: false\n'),
      'schedules/c.md': schedule('0 0 1 1 *'),
    })
    await clock.pass(5_000)
    await collected.until(() => collected.events.some(({ type }) => type === 'reloaded'))
    expect(collected.events.filter(({ type }) => type === 'reloaded')).toEqual([
      { type: 'reloaded', added: ['c'], changed: ['a'], removed: ['b'] },
    ])
    await clock.pass(300_000)
    await collected.made(2)
    const last = model.requests.at(-1)
    expect(last?.instructions).toMatch(/^You are the day watch\./)
    expect(last?.chatHistory.at(-1)?.content).toContainEqual({ type: 'text', text: 'New words.' })
    expect(await served.reload()).toBe(false)
    await served.stop()
  })

  it('rejects invalid options, and does not accept a session id', async () => {
    const dir = await agentDir({ 'schedules/a.md': schedule('0 0 1 1 *') })
    const agent = await newAgent()
    const work = await directoryWith({})
    await expect(agent.serveAgentDir(dir, work, { drainTimeoutMs: -1 })).rejects.toThrow(
      /drainTimeoutMs must be/,
    )
    await expect(agent.serveAgentDir(dir, work, { maxToolRounds: -1 })).rejects.toMatchObject({
      code: 'session_option',
    })
    const tool = createJsonTool({
      name: 'mine',
      description: 'x',
      parameters: { type: 'object' },
      execute: () => 'x',
    })
    const served = await agent.serveAgentDir(dir, work, { sessionId: 'other', tools: [tool] })
    expect(served.session('a')?.sessionId).toBe('schedule:a')
    expect(served.session('a')?.toolNames()).toContain('mine')
    await served.stop()
  })
})
