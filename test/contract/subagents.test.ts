import { describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import { SequentialIdGenerator } from '../../src/loop/host-env.js'
import { kernelOf } from '../../src/session/session-class.js'
import { MemorySessionStore } from '../../src/store/memory-store.js'
import type { AgentDefinition } from '../../src/subagents/agent-definition.js'
import { subagentsFeature } from '../../src/subagents/feature.js'
import { recordsOf, storeWith } from '../persistence/kept.js'
import { eventsOf, later, makeWorkspace, ofType, whenDone } from './open-session.js'
import { byPrompt, call, open } from './subagents.js'

describe('a task', () => {
  it('is run by an agent in its own session, and its answer is the result', async () => {
    const model = byPrompt(({ prompt, turn, results }) => {
      if (prompt === 'Where is the sign?')
        return turn === 0
          ? call('task', { agent: 'explore', description: 'find the sign', prompt: 'Read a.txt' })
          : `It says: ${results.join()}`
      return turn === 0 ? call('read', { file_path: 'a.txt' }) : 'the sign is in a.txt'
    })
    const { session } = await open({ model }, { 'a.txt': 'sign' })
    const events = await eventsOf(session, 'Where is the sign?')
    const [end] = ofType(events, 'agent_end')
    expect(end?.result.text).toContain('the sign is in a.txt')
    const [start] = ofType(events, 'subagent_start')
    expect(start).toMatchObject({
      agent: 'explore',
      description: 'find the sign',
      parentSessionId: session.sessionId,
    })
    expect(start?.sessionId).toBe(`task-run-${start?.taskId}`)
    expect(ofType(events, 'subagent_progress').map(({ status }) => status)).toEqual([
      'round 1 done',
      'calls read',
      'round 2 done',
    ])
    expect(ofType(events, 'subagent_end')).toMatchObject([
      { taskId: start?.taskId, agent: 'explore', output: 'the sign is in a.txt', success: true },
    ])
    // The parent's history has the call and its result, and nothing of how it came about.
    expect(session.history().map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
    expect(await session.subagentTasks()).toMatchObject([
      { taskId: start?.taskId, status: 'completed', success: true, counters: { rounds: 2, toolCalls: 1 } },
    ])
    expect(await session.pendingSubagentTasks()).toEqual([])
  })

  it('can be started by the host, and returns a ToolResult', async () => {
    const model = byPrompt(() => 'short')
    const { session } = await open({ model })
    const result = await session.task({
      agent: 'general',
      description: 'docs delegated check',
      prompt: 'Return a short response.',
      maxSteps: 1,
    })
    expect(result).toMatchObject({ name: 'task', exitCode: 0 })
    expect(result.output).toContain('short')
    expect(result.metadata).toMatchObject({ agent: 'general', success: true, rounds: 1 })
    const both = await session.tasks([
      { agent: 'general', description: 'one', prompt: 'Return one response.', maxSteps: 1 },
      { agent: 'general', description: 'two', prompt: 'Return another response.', maxSteps: 1 },
    ])
    expect(both).toMatchObject({ name: 'parallel_task', exitCode: 0 })
    expect(both.metadata).toMatchObject({
      task_count: 2,
      success_count: 2,
      failed_count: 0,
      all_success: true,
    })
  })

  it('with an unknown agent is an error that lists the known ones', async () => {
    const { session } = await open({ model: byPrompt(() => 'x') })
    const result = await session.task({ agent: 'exploer', prompt: 'go' })
    expect(result.exitCode).toBe(1)
    expect(result.output).toContain("agent 'exploer' not found")
    expect(result.output).toContain('explore')
  })

  it('keeps its text when it fails, and says why', async () => {
    const model = byPrompt(({ turn }) => ({
      text: `step ${turn}`,
      toolCalls: [{ name: 'ls', args: { path: '.' } }],
    }))
    const { session } = await open({ model })
    const result = await session.task({ agent: 'explore', prompt: 'loop', maxSteps: 1 })
    expect(result.exitCode).toBe(1)
    expect(result.output).toContain('Task failed')
    expect(result.output).toContain('step 1')
    expect(await session.subagentTasks()).toMatchObject([{ status: 'failed', success: false }])
  })

  it('has a deadline', async () => {
    const model = byPrompt(() => ({ text: 'thinking', hang: true }))
    const { session } = await open({ model, delegation: { timeoutMs: 50 } })
    const result = await session.task({ agent: 'explore', prompt: 'hang' })
    expect(result.output).toMatch(/50 ms/)
    expect(result.output).toContain('thinking')
  })

  it('does not read the model’s text as a command of the host', async () => {
    const model = byPrompt(({ prompt }) => `asked: ${prompt}`)
    const { session } = await open({ model })
    expect((await session.task({ prompt: '/help' })).output).toContain('asked: /help')
  })

  it('has the tools that its parent has and its agent names', async () => {
    let shown: string[] = []
    const model = byPrompt(({ request }) => {
      shown = request.tools.map(({ name }) => name)
      return 'ok'
    })
    const { session } = await open({ model, builtinTools: ['read', 'grep', 'task'] })
    await session.task({ agent: 'general', prompt: 'go' })
    expect(shown).toEqual(['read', 'grep'])
  })

  it('answers with data when a schema is given, and is asked once more when it does not match', async () => {
    const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }
    const answers = ['{"n":"one"}', '```json\n{"n":1}\n```']
    let asked = 0
    const model = byPrompt(() => answers[asked++] ?? '')
    const { session } = await open({ model })
    const result = await session.task({ agent: 'general', prompt: 'count', outputSchema: schema })
    expect(result.metadata?.['structured']).toEqual({ n: 1 })
    const bad = await session.task({ agent: 'general', prompt: 'count', outputSchema: schema })
    expect(bad.exitCode).toBe(1)
    expect(bad.output).toContain('does not fit its schema')
  })
})

describe('the usage of a subagent', () => {
  it('is counted by its parent, and limited by the parent’s guard', async () => {
    const usage = { inputTokens: 100, outputTokens: 10, totalTokens: 110 }
    const model = byPrompt(() => ({ text: 'done', usage }))
    const seen: string[] = []
    let spent = 0
    const { session } = await open({
      model,
      budgetGuard: {
        checkBeforeLlm: (sessionId: string) => {
          seen.push(sessionId)
          return spent >= 220
            ? { decision: 'deny', resource: 'tokens', reason: 'all gone' }
            : { decision: 'allow' }
        },
        recordAfterLlm: (_: string, { totalTokens }: { totalTokens: number }) => {
          spent += totalTokens
        },
      },
    })
    await session.task({ agent: 'general', prompt: 'one' })
    await session.task({ agent: 'general', prompt: 'two' })
    expect(spent).toBe(220)
    expect(new Set(seen)).toEqual(new Set([session.sessionId]))
    const refused = await session.task({ agent: 'general', prompt: 'three' })
    expect(refused.exitCode).toBe(1)
    expect(refused.output).toContain('all gone')
    await expect(session.send('four')).rejects.toThrow('all gone')
  })
})

describe('undo', () => {
  it('restores what subagents changed for a run', async () => {
    const model = byPrompt(({ prompt, turn }) => {
      if (prompt === 'Change it')
        return turn === 0 ? call('task', { agent: 'general', prompt: 'write it' }) : 'done'
      return turn === 0 ? call('write', { file_path: 'a.txt', content: 'new' }) : 'written'
    })
    const { session } = await open({ model, mode: 'accept-edits' }, { 'a.txt': 'old' })
    await session.send('Change it')
    expect(await session.readFile('a.txt')).toBe('new')
    await session.undo()
    expect(await session.readFile('a.txt')).toBe('old')
  })
})

describe('an agent', () => {
  const named = (agent: Partial<AgentDefinition>): AgentDefinition => ({
    name: 'own',
    description: 'Does one thing.',
    prompt: 'You are own.',
    ...agent,
  })

  it('is informed that another agent reads its answer only when configured, and only in a task', async () => {
    const model = byPrompt(({ request }) => request.instructions ?? '')
    const { session, agent, root } = await open({ model })
    kernelOf(session).use(subagentsFeature).agents.add(named({}))
    const line = 'Your caller is an agent'
    expect((await session.task({ agent: 'explore', prompt: 'x' })).output.split(line)).toHaveLength(2)
    expect((await session.task({ agent: 'own', prompt: 'x' })).output).not.toContain(line)
    const alone = agent.sessionForAgent(root, 'explore', [], { model, sandbox: 'off' })
    expect((await alone.send('x')).text).not.toContain(line)
  })

  it('that is primary accepts no tasks', async () => {
    const { session } = await open({ model: byPrompt(() => 'x') })
    kernelOf(session)
      .use(subagentsFeature)
      .agents.add(named({ mode: 'primary' }))
    expect((await session.task({ agent: 'own', prompt: 'x' })).output).toContain("agent 'own' not found")
    kernelOf(session)
      .use(subagentsFeature)
      .agents.add(named({ mode: 'subagent', hidden: true }))
    expect((await session.task({ agent: 'own', prompt: 'x' })).exitCode).toBe(0)
  })

  it('that is inspectable is listed with the open sessions while it runs', async () => {
    const at = later()
    const go = later()
    const model = byPrompt(async () => {
      at.resolve()
      await go.promise
      return 'x'
    })
    const { session, agent } = await open({ model })
    kernelOf(session)
      .use(subagentsFeature)
      .agents.add(named({ inspectable: true }))
    const done = session.task({ agent: 'own', prompt: 'x' })
    await at.promise
    expect(await agent.listSessions()).toHaveLength(2)
    go.resolve()
    const { metadata } = await done
    expect(await agent.listSessions()).toEqual([session.sessionId])
    expect(metadata?.['session_id']).toMatch(/^task-run-/)
  })

  it('that was added is listed to the model in one line', async () => {
    let instructions = ''
    const model = byPrompt(({ request }) => {
      instructions = request.instructions ?? ''
      return 'x'
    })
    const { session } = await open({ model })
    kernelOf(session)
      .use(subagentsFeature)
      .agents.add(named({ description: 'Does\none thing. '.repeat(40) }))
    await session.send('x')
    const lines = instructions.split('\n').filter((line) => line.startsWith('- own:'))
    expect(lines).toHaveLength(1)
    expect(lines[0]?.length).toBeLessThanOrEqual(160)
  })

  it('uses the ids of its host in a reproducible order', async () => {
    const run = async (): Promise<unknown> => {
      const model = byPrompt(async ({ prompt }) => {
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 5))
        return prompt
      })
      const hostEnv = { idGenerator: new SequentialIdGenerator('id') }
      const { session } = await open({ model, hostEnv })
      await session.tasks(['a', 'b', 'c'].map((prompt) => ({ prompt })))
      return (await session.subagentTasks()).map(({ taskId, childSessionId, output }) => [
        taskId,
        childSessionId,
        output,
      ])
    }
    expect(await run()).toEqual(await run())
  })
})

it('the usage of subagents counts after a restart too', async () => {
  const usage = { inputTokens: 100, outputTokens: 10, totalTokens: 110 }
  const model = byPrompt(({ prompt, turn }) =>
    prompt === 'Begin' && turn === 0 ? { ...call('task', { prompt: 'x' }), usage } : { text: 'done', usage },
  )
  const store = new MemorySessionStore()
  const first = await open({ model, sessionStore: store, sessionId: 'parent' })
  await first.session.send('Begin')
  expect(kernelOf(first.session).spending.total.usage.totalTokens).toBe(330)
  const left = await storeWith('parent', await recordsOf(store, 'parent'))
  const second = await open({ model, sessionStore: left, sessionId: 'parent' })
  expect(kernelOf(second.session).spending.total.usage.totalTokens).toBe(330)
})

it('auto_delegation and the related fields of a configuration apply to every session', async () => {
  const { root, userDir } = await makeWorkspace()
  const config = 'auto_delegation { enabled = true allow_manual_delegation = false }\nauto_parallel = false'
  const agent = await Agent.create(config, { userDir, env: {} })
  whenDone(() => agent.close())
  const model = byPrompt(({ request }) =>
    request.chatHistory.length > 1 ? 'more' : JSON.stringify(request.chatHistory),
  )
  const session = agent.session(root, { model, sandbox: 'off' })
  expect(session.toolNames()).not.toContain('task')
  expect((await session.send('Where is it?')).text).toContain('<delegated-work>')
})
