import { describe, expect, it } from 'vitest'
import type { QuestionSource } from '../../src/feature/question.js'
import type { AskRequest } from '../../src/loop/ask.js'
import { kernelOf } from '../../src/session/session-class.js'
import { subagentsFeature } from '../../src/subagents/feature.js'
import { eventsOf, later, ofType, until } from './open-session.js'
import { byPrompt, call, open } from './subagents.js'

const command = 'touch made.txt'
/** The parent hands on, the child runs a command that must be asked about. */
function handingOn(times = 1) {
  return byPrompt(({ prompt, turn, results }) => {
    if (prompt === 'Hand on')
      return turn === 0
        ? call('task', { agent: 'general', description: 'touch', prompt: 'do' })
        : `got ${results.join()}`
    return turn < times ? call('bash', { command }, 'same-id') : `got ${results.join()}`
  })
}

describe('a call of a subagent that needs approval', () => {
  it('reaches the user of the parent, with the name of the subagent', async () => {
    const asked: AskRequest[] = []
    const { session } = await open({
      model: handingOn(),
      onAsk: (request: AskRequest) => {
        asked.push(request)
        return { decision: 'once' }
      },
    })
    const events = await eventsOf(session, 'Hand on')
    expect(asked).toHaveLength(1)
    expect(asked[0]).toMatchObject({ toolName: 'bash', run: { agentId: 'general' } })
    expect(asked[0]?.run?.sessionId).toMatch(/^task-run-/)
    expect(asked[0]?.notes.join()).toContain('asked by the subagent "general" (touch)')
    expect(ofType(events, 'confirmation_required')).toHaveLength(1)
    expect(await session.glob('*')).toEqual(['made.txt'])
  })

  it('waits with those of the parent, and is answered by its id', async () => {
    const { session } = await open({ model: handingOn(), confirmationPolicy: { enabled: true } })
    const stream = await session.stream('Hand on')
    const { toolId } = await until(stream, 'confirmation_required')
    expect(session.pendingConfirmations()).toMatchObject([{ toolId, toolName: 'bash' }])
    expect(await session.confirmToolUse(toolId, true)).toBe(true)
    for await (const _ of stream);
    expect(await session.glob('*')).toEqual(['made.txt'])
  })

  it('is refused when there is no user, although its agent would allow it', async () => {
    const { session } = await open({ model: handingOn() })
    const { text } = await session.send('Hand on')
    expect(text).toContain('No user can be asked')
    expect(await session.glob('*')).toEqual([])
  })

  it('is two questions when two children ask with the same id', async () => {
    const { session } = await open({ model: handingOn(), confirmationPolicy: { enabled: true } })
    const done = session.tasks([
      { agent: 'general', prompt: 'do' },
      { agent: 'general', prompt: 'do' },
    ])
    const waiting = later()
    const look = setInterval(() => session.pendingConfirmations().length === 2 && waiting.resolve(), 5)
    await waiting.promise
    clearInterval(look)
    for (const { toolId } of session.pendingConfirmations()) await session.confirmToolUse(toolId, true)
    expect((await done).metadata).toMatchObject({ success_count: 2 })
  })

  it('is answered for the session of the child only', async () => {
    let asked = 0
    const onAsk = () => {
      asked++
      return { decision: 'session' } as const
    }
    const model = byPrompt(({ prompt, turn, results }) => {
      if (prompt === 'Do it yourself') return turn === 0 ? call('bash', { command }) : `got ${results.join()}`
      return turn < 2 ? call('bash', { command }) : `got ${results.join()}`
    })
    const { session } = await open({ model, onAsk })
    await session.task({ agent: 'general', prompt: 'do' })
    // The second time in the same child no user is asked.
    expect(asked).toBe(1)
    await session.task({ agent: 'general', prompt: 'do' })
    expect(asked).toBe(2)
    await session.send('Do it yourself')
    expect(asked).toBe(3)
    // Approvals for the parent are not passed on.
    await session.send('Do it yourself')
    expect(asked).toBe(3)
    await session.task({ agent: 'general', prompt: 'do' })
    expect(asked).toBe(4)
  })

  it('is allowed when the host passes approvals on to subagents', async () => {
    let asked = 0
    const onAsk = () => {
      asked++
      return { decision: 'session' } as const
    }
    const model = byPrompt(({ turn, results }) =>
      turn === 0 ? call('bash', { command }) : `got ${results.join()}`,
    )
    const { session } = await open({ model, onAsk, delegation: { approvals: true } })
    await session.send('Do it yourself')
    await session.task({ agent: 'general', prompt: 'do' })
    expect(asked).toBe(1)
  })

  it('is withdrawn when its task is cancelled', async () => {
    const { session } = await open({ model: handingOn(), confirmationPolicy: { enabled: true } })
    const stream = await session.stream('Hand on')
    await until(stream, 'confirmation_required')
    const [task] = await session.pendingSubagentTasks()
    expect(await session.cancelSubagentTask(task?.taskId ?? '')).toBe(true)
    expect(session.pendingConfirmations()).toEqual([])
    for await (const _ of stream);
    expect(await session.subagentTask(task?.taskId ?? '')).toMatchObject({ status: 'cancelled' })
  })
})

describe('a question of a subagent', () => {
  it('reaches the handler of the parent, with the name of the subagent', async () => {
    const from: (QuestionSource | undefined)[] = []
    const model = byPrompt(({ prompt, turn, results }) => {
      if (prompt === 'Hand on')
        return turn === 0
          ? call('task', { agent: 'asker', description: 'ask', prompt: 'do' })
          : `got ${results.join()}`
      return turn === 0
        ? call('question', { questions: [{ question: 'Red or blue?' }] })
        : `got ${results.join()}`
    })
    const { session } = await open({
      model,
      onQuestion: (_: unknown, source?: QuestionSource) => {
        from.push(source)
        return { answers: [['blue']] }
      },
    })
    kernelOf(session)
      .use(subagentsFeature)
      .agents.add({ name: 'asker', description: 'Asks.', prompt: 'Ask.' })
    const events = await eventsOf(session, 'Hand on')
    expect(from).toMatchObject([{ agent: 'asker', description: 'ask' }])
    expect(ofType(events, 'user_question')).toMatchObject([{ agent: 'asker' }])
    expect(ofType(events, 'agent_end')[0]?.result.text).toContain('blue')
  })
})
