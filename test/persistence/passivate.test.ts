import { describe, expect, it } from 'vitest'
import type { SessionOptions } from '../../src/session/options.js'
import { MemorySessionStore } from '../../src/store/memory-store.js'
import { type ScriptedStep, scriptedModel } from '../../src/testing/scripted-model.js'
import { notingTool, stateOf } from './kept.js'
import { openAgentPlace } from './open-agent.js'

const call = (name: string, word: string): NonNullable<ScriptedStep['toolCalls']>[number] => ({
  id: `call-${word}`,
  name,
  args: { word },
})

async function place(steps: (ScriptedStep | string)[], gate?: Promise<void>) {
  const { agent, work } = await openAgentPlace()
  const store = new MemorySessionStore()
  const made: string[] = []
  const looked = { begun: made, done: [] }
  const model = scriptedModel(steps)
  const options: SessionOptions = {
    sessionId: 's',
    sessionStore: store,
    model,
    tools: [
      notingTool(looked, { name: 'look', work: async () => gate }),
      notingTool(looked, { name: 'change' }),
    ],
    permissionPolicy: { allow: ['look'], ask: ['change'] },
    confirmationPolicy: { enabled: true, defaultTimeoutMs: 3_600_000 },
  }
  const open = () => agent.session(work, options)
  return { open, store, made, model }
}

describe('a session that is passivated', () => {
  it('ends its round, and the next process resumes without repeating a call', async () => {
    let release = (): void => undefined
    const gate = new Promise<void>((resolve) => {
      release = resolve
    })
    const { open, store, made, model } = await place(
      [{ toolCalls: [call('look', 'one')] }, { toolCalls: [call('look', 'two')] }, 'all is done'],
      gate,
    )
    const session = open()
    const events: string[] = []
    const result = session.send({ prompt: 'look', runId: 'r' })
    const watched = (async () => {
      for await (const { event } of session.watch('r')) {
        events.push(event.type)
        if (event.type !== 'tool_execution_start') continue
        const suspended = session.passivate({ reason: 'node is stopping', deadlineMs: 3_600_000 })
        release()
        await suspended
      }
    })()
    await expect(result).rejects.toMatchObject({ code: 'session_closed' })
    await watched
    expect(events).toContain('passivation_requested')
    expect(made).toEqual(['one'])
    expect(model.requests).toHaveLength(1)
    expect((await stateOf(store, 's')).runs.get('r')?.status).toBe('running')
    const next = open()
    expect((await next.resumeRun('r')).text).toBe('all is done')
    expect(made).toEqual(['one', 'two'])
    expect(JSON.stringify(next.history())).not.toContain('interrupted')
    await next.close()
  })

  it('keeps the results of calls that had ended while another waited for an approval', async () => {
    const { open, store, made } = await place([
      { toolCalls: [call('look', 'one'), call('change', 'two')] },
      'all is done',
    ])
    const session = open()
    const result = session.send({ prompt: 'look', runId: 'r' })
    for await (const { event } of session.watch('r')) {
      const isIdle = event.type === 'tool_end' || event.type === 'confirmation_required'
      if (isIdle && session.isWaitingForUser()) break
    }
    expect(session.isWaitingForUser()).toBe(true)
    await session.passivate({ reason: 'it waits for a user' })
    await expect(result).rejects.toMatchObject({ code: 'session_closed' })
    expect(made).toEqual(['one'])
    expect([...(await stateOf(store, 's')).openOutcomes.keys()]).toEqual(['call-one'])
    const next = open()
    expect(await next.confirmToolUse('call-two', true)).toBe(true)
    expect((await next.resumeRun('r')).text).toBe('all is done')
    expect(made).toEqual(['one', 'two'])
    const history = JSON.stringify(next.history())
    expect(history).toContain('noted one')
    expect(history).toContain('noted two')
    await next.close()
    expect((await stateOf(store, 's')).openOutcomes.size).toBe(0)
  })

  it('is suspended at once when it has no run', async () => {
    const { open } = await place(['unused'])
    const session = open()
    await session.passivate({ reason: 'idle' })
    expect(session.isClosed).toBe(true)
  })

  it('stops its calls at the deadline', async () => {
    const { open, made } = await place(
      [{ toolCalls: [call('look', 'one')] }, 'done'],
      new Promise(() => undefined),
    )
    const session = open()
    const result = session.send({ prompt: 'look', runId: 'r' })
    for await (const { event } of session.watch('r'))
      if (event.type === 'tool_execution_start') await session.passivate({ reason: 'now', deadlineMs: 1 })
    await expect(result).rejects.toMatchObject({ code: 'session_closed' })
    expect(made.length).toBeLessThanOrEqual(1)
    const next = open()
    expect((await next.resumeRun('r')).text).toBe('done')
    await next.close()
  })
})
