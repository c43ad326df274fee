/** Tasks that wait, that are many, and that are cut off: what a limit means for them. */
import { expect, it, onTestFinished, vi } from 'vitest'
import { MemorySessionStore } from '../../src/store/memory-store.js'
import type { OpenLogOptions, SessionLog } from '../../src/store/session-store.js'
import { eventsOf, later, ofType } from './open-session.js'
import { byPrompt, call, open } from './subagents.js'

const stepOf = (taskId: string) => ({ taskId, agent: 'general', prompt: taskId })

/** Until the test ends, time for limits passes only when the test says so. */
function fakeTimeouts(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
}

it('the time limit of a step in a pipeline starts with the step', async () => {
  const go = later()
  const model = byPrompt(async ({ prompt }) => {
    if (prompt === 'hold') await go.promise
    return `did ${prompt}`
  })
  const { session } = await open({ model, maxParallelTasks: 1 })
  const held = session.task({ prompt: 'hold' })
  const stages = [({ item }: { item: string }) => stepOf(item)]
  fakeTimeouts()
  const outcomes = session.pipeline(['a', 'b'], stages, 1_000)
  await new Promise((resolve) => setImmediate(resolve))
  vi.advanceTimersByTime(1_300)
  go.resolve()
  expect((await outcomes).map((outcome) => outcome?.output)).toEqual(['did a', 'did b'])
  await held
  for (const odd of [0, Number.NaN, 2 ** 31, 1.5])
    await expect(session.pipeline(['a'], stages, odd)).rejects.toThrow('timeoutMs must be a whole number')
})

it('steps wait for each other when fewer tasks can be unfinished than can run at the same time', async () => {
  const { session } = await open({ model: byPrompt(({ prompt }) => prompt), delegation: { maxTasks: 2 } })
  const outcomes = await session.parallel(['a', 'b', 'c', 'd', 'e'].map(stepOf))
  expect(outcomes.map(({ output }) => output)).toEqual(['a', 'b', 'c', 'd', 'e'])
})

it('no step of a workflow is dropped before the whole workflow has ended, however few tasks are kept', async () => {
  const done: string[] = []
  let fails = true
  const model = byPrompt(({ prompt }) => {
    done.push(prompt)
    return prompt === 'c' && fails ? { error: new Error('no luck') } : prompt
  })
  const sessionStore = new MemorySessionStore()
  const options = { model, sessionStore, sessionId: 'flow', retry: { maxRetries: 0 } }
  const limits = { retentionLimits: { maxTerminalSubagentTasks: 1 } }
  const steps = ['a', 'b', 'c', 'd', 'e'].map(stepOf)
  const first = await open({ ...options, ...limits })
  await first.session.parallelResumable(steps, 'release')
  await first.session.close()
  fails = false
  done.length = 0
  const { session } = await open({ ...options, ...limits })
  const outcomes = await session.parallelResumable(steps, 'release')
  expect(outcomes.map(({ output }) => output)).toEqual(['a', 'b', 'c', 'd', 'e'])
  expect(done).toEqual(['c'])
  expect(await session.subagentTasks()).toHaveLength(1)
})

it('a skill that runs in its own agent has the time limit of a task, not of a tool', async () => {
  const model = byPrompt(async ({ prompt, turn, results }) => {
    if (prompt === 'go')
      return turn === 0 ? call('Skill', { skill_name: 'slow', prompt: 'do' }) : results.join()
    vi.advanceTimersByTime(120)
    return 'the answer'
  })
  const inlineSkills = [{ name: 'slow', content: 'Take your time.' }]
  const { session } = await open({ model, inlineSkills, toolTimeoutMs: 30 })
  fakeTimeouts()
  expect((await session.send('go')).text).toBe('the answer')
})

it('consults no agent first when the rules do not allow delegation', async () => {
  for (const permissionPolicy of [{ deny: ['task'] }, { ask: ['task'] }]) {
    const model = byPrompt(({ prompt }) => prompt)
    const { session } = await open({ model, permissionPolicy, autoDelegation: { enabled: true } })
    const events = await eventsOf(session, 'Use the explore agent.')
    expect(ofType(events, 'agent_end')[0]?.result.text).toBe('Use the explore agent.')
    expect(await session.subagentTasks()).toEqual([])
    expect(ofType(events, 'notice').map(({ source }) => source)).toContain('autoDelegation')
    await session.close()
  }
})

/** Takes everything but what is said of tasks. */
class NoTaskNotes extends MemorySessionStore {
  failing = false

  override async open(sessionId: string, options: OpenLogOptions): Promise<SessionLog> {
    const log = await super.open(sessionId, options)
    return {
      lease: log.lease,
      append: (records) =>
        this.failing && JSON.stringify(records).includes('"type":"task"')
          ? Promise.reject(new Error('no space left'))
          : log.append(records),
      writeBlob: (bytes) => log.writeBlob(bytes),
      flush: () => log.flush(),
      close: () => log.close(),
    }
  }
}

it('a log that fails while it records an interrupted task is reported to the host, and ends no process', async () => {
  const sessionStore = new NoTaskNotes()
  const model = byPrompt(({ prompt, turn }) => {
    if (prompt === 'slow') return { hang: true }
    return prompt === 'Begin' && turn === 0 ? call('task', { prompt: 'slow', background: true }) : 'fine'
  })
  const first = await open({ model, sessionStore, sessionId: 'parent' })
  await first.session.send('Begin')
  await first.session.suspend()
  sessionStore.failing = true
  const rejected: unknown[] = []
  const note = (reason: unknown): void => void rejected.push(reason)
  process.on('unhandledRejection', note)
  const reported = later<string>()
  const { session } = await open({ model, sessionStore, sessionId: 'parent' })
  const stream = await session.stream('And?')
  for await (const event of stream)
    if (event.type === 'persistence_failed' && event.operation === 'task') reported.resolve(event.error)
  await new Promise(setImmediate)
  process.off('unhandledRejection', note)
  expect(rejected).toEqual([])
  expect(await Promise.race([reported.promise, Promise.resolve('nothing was reported')])).toContain(
    'no space left',
  )
})
