import { describe, expect, it } from 'vitest'
import type { Session } from '../../src/session/session.js'
import { MemorySessionStore } from '../../src/store/memory-store.js'
import type { TaskOptions } from '../../src/subagents/task-options.js'
import { recordsOf, storeWith } from '../persistence/kept.js'
import { byPrompt, call, open, textOf } from './subagents.js'

describe('parallel tasks', () => {
  it('run eight at a time when there are 32, and each answer belongs to its task', async () => {
    let atWork = 0
    let most = 0
    const model = byPrompt(async ({ prompt }) => {
      atWork++
      most = Math.max(most, atWork)
      await new Promise((resolve) => setTimeout(resolve, 100))
      atWork--
      return `answer to ${prompt}`
    })
    const { session } = await open({ model })
    await session.task({ prompt: 'warm up' })
    const prompts = Array.from({ length: 32 }, (_, at) => `question ${at}`)
    const { metadata, output } = await session.tasks(prompts.map((prompt) => ({ agent: 'general', prompt })))
    expect(most).toBe(8)
    expect(metadata).toMatchObject({ task_count: 32, all_success: true })
    const answers = [...output.matchAll(/--- Task (\d+) .*\n.*\nanswer to question (\d+)/g)]
    expect(answers.map(([, task, question]) => [Number(task), Number(question)])).toEqual(
      prompts.map((_, at) => [at + 1, at]),
    )
  })

  it('are limited by maxParallelTasks', async () => {
    let atWork = 0
    let most = 0
    const model = byPrompt(async () => {
      most = Math.max(most, ++atWork)
      await new Promise(setImmediate)
      atWork--
      return 'x'
    })
    const { session } = await open({ model, maxParallelTasks: 2 })
    await session.tasks(Array.from({ length: 7 }, () => ({ prompt: 'go' })))
    expect(most).toBe(2)
  })

  it('do not fail the others when one fails, and fail when all fail', async () => {
    const model = byPrompt(({ prompt }) => (prompt === 'bad' ? { error: new Error('no luck') } : 'good'))
    const { session } = await open({ model, retry: { maxRetries: 0 } })
    const some = await session.tasks([{ prompt: 'bad' }, { prompt: 'fine' }])
    expect(some).toMatchObject({ exitCode: 0, metadata: { success_count: 1, failed_count: 1 } })
    expect(some.output).toMatch(/Task 1 \(general\) \[ERR\][\s\S]*no luck[\s\S]*Task 2 \(general\) \[OK\]/)
    const none = await session.tasks([{ prompt: 'bad' }, { prompt: 'bad' }])
    expect(none.exitCode).toBe(1)
  })

  it.each([
    ['session.tasks', (session: Session, tasks: TaskOptions[]) => session.tasks(tasks)],
    ['parallel_task', (session: Session, tasks: TaskOptions[]) => session.tool('parallel_task', { tasks })],
    ['session.task', (session: Session, tasks: TaskOptions[]) => session.task({ tasks })],
    ['task', (session: Session, tasks: TaskOptions[]) => session.tool('task', { tasks })],
  ] as const)('fail only for the task with an unknown agent, by %s', async (_, hand) => {
    const { session } = await open({ model: byPrompt(({ prompt }) => `answer to ${prompt}`) })
    const some = await hand(session, [
      { agent: 'explore', prompt: 'a' },
      { agent: 'exploer', prompt: 'b' },
      { prompt: 'c' },
    ])
    expect(some).toMatchObject({
      exitCode: 0,
      metadata: { task_count: 3, success_count: 2, failed_count: 1 },
    })
    expect(some.output).toMatch(
      /Task 1 \(explore\) \[OK\][\s\S]*answer to a[\s\S]*Task 2 \(exploer\) \[ERR\] ---\nError: agent 'exploer' not found\. Did you mean "explore"[\s\S]*Task 3 \(general\) \[OK\][\s\S]*answer to c/,
    )
    const none = await hand(session, [
      { agent: 'nobody', prompt: 'a' },
      { agent: 'nobody', prompt: 'b' },
    ])
    expect(none).toMatchObject({ exitCode: 1, metadata: { task_count: 2, failed_count: 2 } })
    // Nothing of a task that was not begun is counted or listed.
    expect(await session.subagentTasks()).toHaveLength(2)
    expect(await session.pendingSubagentTasks()).toEqual([])
  })

  it.each([
    [{ tasks: [{ prompt: 'a' }], prompt: 'b' }, '"tasks" and "prompt" cannot be combined'],
    [{ tasks: [{ prompt: 'a' }], background: true }, '"tasks" and "background" cannot be combined'],
    [{ agent: 'explore' }, '"prompt" is missing. Give "prompt" for one task, or "tasks" for several.'],
    [{ tasks: [] }, 'tasks'],
    [{ tasks: 'a' }, 'tasks'],
    [{ tasks: [{ agent: 'explore' }] }, 'prompt'],
  ])('reject what is neither one task nor several: %j', async (args, words) => {
    const { session } = await open({ model: byPrompt(() => 'x') })
    const refused = await session.task(args as never)
    expect(refused.exitCode).toBe(1)
    expect(refused.output).toContain(words)
  })

  it('report what is wrong with a task of the list', async () => {
    const { session } = await open({ model: byPrompt(() => 'x') })
    const odd = await session.tool('parallel_task', {
      tasks: [{ prompt: 'a' }, { prompt: 'b', agnt: 'explore' }],
    })
    expect(odd.output).toContain('tasks[1] has no field "agnt"')
    const many = await session.tasks(Array.from({ length: 33 }, () => ({ prompt: 'a' })))
    expect(many.exitCode).toBe(1)
  })
})

describe('session.parallel', () => {
  const steps = ['a', 'b', 'c'].map((taskId) => ({ taskId, agent: 'general', prompt: `do ${taskId}` }))

  it('returns outcomes in the order of the steps, and data when a schema is given', async () => {
    const model = byPrompt(({ prompt }) => (prompt.includes('JSON Schema') ? '{"ok":true}' : prompt))
    const { session } = await open({ model })
    expect(await session.parallel([])).toEqual([])
    const schema = { type: 'object', required: ['ok'] }
    const [first, second] = await session.parallel([
      { taskId: 'plain', agent: 'general', prompt: 'say' },
      { taskId: 'data', agent: 'explore', prompt: 'say', outputSchema: schema },
    ])
    expect(first).toMatchObject({ taskId: 'plain', agent: 'general', output: 'say', success: true })
    expect(second).toMatchObject({ taskId: 'data', success: true, structured: { ok: true } })
    const [unknown] = await session.parallel([{ taskId: 'x', agent: 'nobody', prompt: 'say' }])
    expect(unknown).toMatchObject({ success: false, error: expect.stringContaining('not found') })
    await expect(session.parallel([steps[0], steps[0]] as never)).rejects.toThrow(
      "another step has the taskId 'a'",
    )
  })

  it('queues steps when more are given than can be unfinished', async () => {
    const { session } = await open({ model: byPrompt(() => 'x'), delegation: { maxTasks: 8 } })
    const many = Array.from({ length: 20 }, (_, at) => ({ taskId: `${at}`, agent: 'general', prompt: 'x' }))
    expect((await session.parallel(many)).every(({ success }) => success)).toBe(true)
  })

  it('sends no more requests once the shared tokens are used up', async () => {
    const usage = { inputTokens: 90, outputTokens: 10, totalTokens: 100 }
    const { session } = await open({ model: byPrompt(() => ({ text: 'x', usage })), maxParallelTasks: 1 })
    const { outcomes, budget } = await session.parallel(steps, 150)
    expect(outcomes.map(({ success }) => success)).toEqual([true, true, false])
    expect(outcomes[2]?.error).toContain('budgetTokens')
    expect(budget).toEqual({ consumedTokens: 200, limitTokens: 150 })
  })

  it('resumes where it was: only what did not succeed is done again, until all of it has', async () => {
    const done: string[] = []
    let fail = true
    const model = byPrompt(({ prompt }) => {
      done.push(prompt)
      if (prompt === 'do c' && fail) return { error: new Error('no luck') }
      return `${prompt}: done`
    })
    const store = new MemorySessionStore()
    const options = { model, sessionId: 'flow', retry: { maxRetries: 0 } }
    const first = await open({ ...options, sessionStore: store })
    expect((await first.session.parallelResumable(steps, 'release')).map(({ success }) => success)).toEqual([
      true,
      true,
      false,
    ])
    fail = false
    done.length = 0
    const left = await storeWith('flow', await recordsOf(store, 'flow'))
    const second = await open({ ...options, sessionStore: left })
    const outcomes = await second.session.parallelResumable(steps, 'release')
    expect(outcomes.map(({ output }) => output)).toEqual(['do a: done', 'do b: done', 'do c: done'])
    expect(done).toEqual(['do c'])
    done.length = 0
    await second.session.parallelResumable(steps, 'release')
    expect(done.sort()).toEqual(['do a', 'do b', 'do c'])
    const { session } = await open({ model })
    await expect(session.parallelResumable(steps, 'release')).rejects.toThrow(
      'parallelResumable requires a sessionStore on the session',
    )
  })
})

describe('session.pipeline', () => {
  it('passes each item through the stages, and ends those that a stage gives up', async () => {
    const model = byPrompt(({ prompt }) => `<${prompt}>`)
    const { session } = await open({ model })
    const step = (prompt: string) => ({ taskId: prompt, agent: 'general', prompt })
    const outcomes = await session.pipeline(
      ['one', 'two', 'skip', 'throw', 'odd'],
      [
        ({ item }) => step(item),
        ({ previous, item }) => {
          if (item === 'skip') return null
          if (item === 'throw') throw new Error('stage')
          if (item === 'odd') return Promise.resolve(step('x')) as never
          return step(`${previous?.output} again`)
        },
      ],
    )
    expect(outcomes.map((outcome) => outcome?.output ?? null)).toEqual([
      '<<one> again>',
      '<<two> again>',
      '<skip>',
      null,
      null,
    ])
  })

  it('ends a step that takes too long, and leaves nothing of it', async () => {
    const { session } = await open({ model: byPrompt(() => ({ hang: true })) })
    const outcomes = await session.pipeline(
      ['a'],
      [({ item }) => ({ taskId: item, agent: 'general', prompt: item })],
      30,
    )
    expect(outcomes).toEqual([null])
    expect(await session.pendingSubagentTasks()).toEqual([])
  })
})

describe('autoDelegation', () => {
  const model = () =>
    byPrompt(({ prompt, request }) => {
      const child = request.instructions?.startsWith('You explore')
        ? 'explorer'
        : request.instructions?.startsWith('You review')
          ? 'reviewer'
          : undefined
      return child === undefined ? request.chatHistory.map(textOf).join('\n') : `${child} on ${prompt}`
    })

  it('is off by default', async () => {
    const { session } = await open({ model: model() })
    expect((await session.send('Where is the parser?')).text).toBe('Where is the parser?')
  })

  it('asks the agents that match a prompt, and adds their answers to it', async () => {
    const { session } = await open({ model: model(), autoDelegation: { enabled: true } })
    const { text } = await session.send('Where is the parser? Review the code of it.')
    expect(text).toContain('<delegated-work>')
    expect(text).toContain('explorer on Where is the parser?')
    expect(text).toContain('reviewer on')
    expect(await session.subagentTasks()).toHaveLength(2)
    expect((await session.send('Say hello')).text).not.toMatch(/Say hello\n<delegated/)
  })

  it('runs them one after another with autoParallel: false', async () => {
    let atWork = 0
    let most = 0
    const slow = byPrompt(async () => {
      most = Math.max(most, ++atWork)
      await new Promise(setImmediate)
      atWork--
      return 'x'
    })
    const { session } = await open({ model: slow, autoDelegation: { enabled: true }, autoParallel: false })
    await session.send('Where is the parser? Review the code.')
    expect(most).toBe(1)
    expect(await session.subagentTasks()).toHaveLength(2)
    expect(session.toolNames()).toContain('parallel_task')
    await session.tasks([{ prompt: 'a' }, { prompt: 'b' }])
    expect(most).toBe(2)
  })
})

it('tasks can be given by a batch, as by a model', async () => {
  const model = byPrompt(({ prompt, turn, results }) =>
    prompt === 'Begin' && turn === 0
      ? call('batch', { invocations: [{ tool: 'task', args: { prompt: 'inner' } }] })
      : `${prompt} ${results.join()}`,
  )
  const { session } = await open({ model })
  expect((await session.send('Begin')).text).toContain('inner')
})
