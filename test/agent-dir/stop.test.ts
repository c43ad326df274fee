import { getEventListeners } from 'node:events'
import { rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { systemScheduleClock } from '../../src/agent/dir/schedule-clock.js'
import type { ServeAgentDirOptions } from '../../src/agent/dir/serve-options.js'
import { SessionClosedError } from '../../src/session/errors.js'
import { scriptedModel } from '../../src/testing/scripted-model.js'
import { processesWith } from '../mcp/support.js'
import { directoryWith, EventCollector, eventually, HandClock, newAgent, putFiles } from './support.js'

const never = '---\ncron: "0 0 1 1 *"\n---\nGo.\n'

/** Serves a directory whose schedule `a` is at work and does not come to an end by itself. */
async function servedAndHanging(options: ServeAgentDirOptions = {}) {
  const dir = await directoryWith({ 'instructions.md': 'You wait.', 'schedules/a.md': never })
  const agent = await newAgent()
  const collected = new EventCollector()
  const served = await agent.serveAgentDir(dir, await directoryWith({}), {
    model: scriptedModel([{ hang: true }]),
    onEvent: collected.onEvent,
    ...options,
  })
  const report = served.runNow('a')
  await collected.until(() => collected.events.some(({ type }) => type === 'schedule_fired'))
  return { dir, agent, collected, served, report }
}

/** A directory with a server that starts and never says a word; `word` finds its process. */
const withSilentServer = (word: string): Promise<string> =>
  directoryWith({
    'instructions.md': 'x',
    'schedules/a.md': never,
    'tools/silent.md': `---\nkind: mcp\ncommand: ${process.execPath}\nargs: ["-e", "setInterval(() => {}, 1000)", "${word}"]\n---\nx`,
  })

describe('stopping a served directory', () => {
  it('uses the shortest limit of all callers', async () => {
    const { served, report } = await servedAndHanging()
    const patient = served.stop()
    const impatient = served.stop({ drainMs: 0 })
    expect(await report).toMatchObject({ status: 'cancelled', error: expect.any(SessionClosedError) })
    await Promise.all([patient, impatient])
    expect(served.isStopped()).toBe(true)
    await served.stop()
    expect(served.state).toBe('stopped')
  })

  it('does not keep the agent from closing while it waits for fires', async () => {
    const { served, agent, report } = await servedAndHanging()
    const patient = served.stop()
    await agent.close()
    expect(await report).toMatchObject({ status: 'cancelled' })
    await patient
  })

  it('does not wait for a running schedule that was removed from the directory', async () => {
    const { dir, served, report } = await servedAndHanging()
    await putFiles(dir, { 'schedules/a.md': never.replace('cron', 'enabled: false\ncron') })
    const reloading = served.reload()
    await eventually(() => served.schedules().length === 0)
    await served.stop({ drainMs: 0 })
    expect(await report).toMatchObject({ status: 'cancelled' })
    expect(await reloading).toBe(true)
  })

  it('waits until the host has received the last report, up to its time limit', async () => {
    const dir = await directoryWith({ 'instructions.md': 'x', 'schedules/a.md': never })
    const agent = await newAgent()
    let take: (() => void) | undefined
    let taken = false
    const served = await agent.serveAgentDir(dir, await directoryWith({}), {
      model: scriptedModel(['done', 'done']),
      onResult: async () => {
        await new Promise<void>((resolve) => {
          take = resolve
        })
        taken = true
      },
    })
    await served.runNow('a')
    const stopping = served.stop()
    await served.runNow('a').catch(() => undefined)
    expect(served.state).toBe('stopping')
    take?.()
    await stopping
    expect(taken).toBe(true)
    const other = await agent.serveAgentDir(dir, await directoryWith({}), {
      model: scriptedModel(['done']),
      onResult: () => new Promise<void>(() => undefined),
    })
    await other.runNow('a')
    const patient = other.stop()
    await other.stop({ drainMs: 10 })
    await patient
    expect(other.isStopped()).toBe(true)
  })

  it('ends a start that waits for a server which does not answer', async () => {
    const [one, two] = ['agent-dir-silent-one', 'agent-dir-silent-two']
    const agent = await newAgent()
    const work = await directoryWith({})
    const options = { model: scriptedModel([]), sandbox: 'off' } as const
    const controller = new AbortController()
    const { signal } = controller
    const starting = agent.serveAgentDir(await withSilentServer(one), work, { ...options, signal })
    await eventually(() => processesWith(one).length > 0)
    controller.abort()
    expect((await starting).isStopped()).toBe(true)
    expect(await agent.listSessions()).toEqual([])
    await eventually(() => processesWith(one).length === 0)
    const another = agent.serveAgentDir(await withSilentServer(two), work, options)
    await eventually(() => processesWith(two).length > 0)
    await agent.close()
    expect((await another).isStopped()).toBe(true)
    await eventually(() => processesWith(two).length === 0)
  })

  it('happens before the start when the signal was already aborted, and leaves no listener on a signal', async () => {
    const dir = await directoryWith({ 'instructions.md': 'x', 'schedules/a.md': never })
    const agent = await newAgent()
    const work = await directoryWith({})
    const aborted = await agent.serveAgentDir(dir, work, {
      model: scriptedModel([]),
      signal: AbortSignal.abort(),
    })
    expect(aborted.isStopped()).toBe(true)
    expect(await agent.listSessions()).toEqual([])
    const { signal } = new AbortController()
    const served = await agent.serveAgentDir(dir, work, { model: scriptedModel([]), signal })
    expect(getEventListeners(signal, 'abort').length).toBeGreaterThan(0)
    await served.stop()
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  it('serves nothing for an agent that was closed meanwhile', async () => {
    const dir = await directoryWith({ 'instructions.md': 'x' })
    const agent = await newAgent()
    const starting = agent.serveAgentDir(dir, await directoryWith({}))
    const closing = agent.close()
    await starting.then(
      (served) => expect(served.isStopped()).toBe(true),
      (error: unknown) => expect(error).toMatchObject({ code: 'session_closed' }),
    )
    await closing
  })
})

describe('the timer of a served directory', () => {
  it('sleeps for longer than a timer supports, and not for a moment', async () => {
    const controller = new AbortController()
    let woke = false
    const sleeping = systemScheduleClock.sleep(1e12, controller.signal).then(() => {
      woke = true
    })
    await systemScheduleClock.sleep(30, controller.signal)
    expect(woke).toBe(false)
    controller.abort()
    await sleeping
  })

  it('needs no new signal for each sleep', async () => {
    const dir = await directoryWith({
      'instructions.md': 'x',
      'schedules/a.md': '---\ncron: "* * * * * *"\n---\nGo.\n',
    })
    const signals = new Set<AbortSignal>()
    class Watched extends HandClock {
      override sleep(ms: number, signal: AbortSignal): Promise<void> {
        signals.add(signal)
        return super.sleep(ms, signal)
      }
    }
    const clock = new Watched('2026-05-01T09:00:00Z')
    const agent = await newAgent()
    const model = scriptedModel(() => 'tick')
    const served = await agent.serveAgentDir(dir, await directoryWith({}), { clock, model })
    await clock.pass(20_000)
    expect(signals.size).toBeLessThan(4)
    await served.stop()
  })
})

describe('a directory that changes', () => {
  const serving = async (dir: string, work: string) => {
    const clock = new HandClock('2026-05-01T08:00:00Z')
    const collected = new EventCollector()
    const agent = await newAgent()
    const served = await agent.serveAgentDir(dir, work, {
      clock,
      model: scriptedModel(() => 'done'),
      onEvent: collected.onEvent,
      reload: { intervalMs: 1_000 },
    })
    const seen = (): string[] =>
      collected.events.map(({ type }) => type).filter((type) => type.startsWith('reload'))
    return { clock, collected, served, seen }
  }

  it('is loaded once the files that it needs in the workspace exist, and reported once until then', async () => {
    const dir = await directoryWith({ 'instructions.md': 'x', 'schedules/a.md': never })
    const work = await directoryWith({})
    const { clock, collected, served, seen } = await serving(dir, work)
    await putFiles(dir, { 'tools/t.md': '---\nkind: script\npath: t.js\n---\nx' })
    await clock.pass(10_000)
    expect(seen()).toEqual(['reload_failed'])
    await writeFile(join(work, 't.js'), 'async function run() { return {} }')
    await clock.pass(5_000)
    await collected.until(() => seen().length > 1)
    expect(seen()).toEqual(['reload_failed', 'reloaded'])
    await eventually(() => served.session('a')?.toolNames().includes('t') === true)
    await served.stop()
  })

  it('can be a link, whose target changes', async () => {
    const one = await directoryWith({ 'instructions.md': 'one', 'schedules/a.md': never })
    const two = await directoryWith({ 'instructions.md': 'two', 'schedules/b.md': never })
    const link = join(await directoryWith({}), 'current')
    await symlink(one, link)
    const { clock, collected, served, seen } = await serving(link, await directoryWith({}))
    await rm(link)
    await symlink(two, link)
    await clock.pass(5_000)
    await collected.until(() => seen().length > 0)
    expect(collected.events).toContainEqual({ type: 'reloaded', added: ['b'], changed: [], removed: ['a'] })
    await served.stop()
  })
})
