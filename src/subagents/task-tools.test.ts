import { describe, expect, it } from 'vitest'
import type { RuntimeTasks, TaskOutcome, TaskRequest } from '../feature/task.js'
import { taskTools } from './task-tools.js'

const [taskTool, parallelTaskTool] = taskTools
if (taskTool === undefined || parallelTaskTool === undefined) throw new Error('there are two of them')

function tasks(requests: TaskRequest[]): RuntimeTasks {
  return {
    run: async (given) => {
      requests.push(...given)
      return given.map(
        ({ agent, description }, at): TaskOutcome => ({
          taskId: `t${at}`,
          sessionId: `task-run-t${at}`,
          agent: String(agent),
          description,
          success: true,
          output: `answer ${at}`,
          counters: { rounds: 1, toolCalls: 0, totalTokens: 5 },
        }),
      )
    },
    start: async (request) => {
      requests.push(request)
      return { taskId: 't', sessionId: 'task-run-t' }
    },
  }
}

describe('task and parallel_task', () => {
  it('are short: less than 900 bytes of every request together', () => {
    expect(JSON.stringify(taskTools.map((tool) => tool.definition())).length).toBeLessThan(900)
  })

  it('accept both names of the agent, and use words of the prompt as the description', async () => {
    const requests: TaskRequest[] = []
    const context = { runtime: { session: { tasks: tasks(requests) } } }
    await taskTool.execute({ subagent_type: 'explore', prompt: 'Look  around.', max_steps: 3 }, context)
    await taskTool.execute({ prompt: 'x'.repeat(80), background: true }, context)
    expect(requests).toEqual([
      { agent: 'explore', description: 'Look around.', prompt: 'Look  around.', maxSteps: 3 },
      { agent: 'general', description: `${'x'.repeat(59)}…`, prompt: 'x'.repeat(80) },
    ])
  })

  it('reject unknown arguments', async () => {
    const context = { runtime: { session: { tasks: tasks([]) } } }
    expect(await taskTool.execute({ prompt: 'x', agnet: 'y' }, context)).toMatchObject({ type: 'error' })
    for (const odd of [
      { prompt: 1 },
      { prompt: 'x', background: true },
      { prompt: 'x', max_steps: 0 },
      { agent: 'x' },
    ])
      expect(await parallelTaskTool.execute({ tasks: [odd] }, context), JSON.stringify(odd)).toMatchObject({
        type: 'error',
      })
  })

  it('report that a host provides no tasks', async () => {
    expect(await taskTool.execute({ prompt: 'x' }, { runtime: { session: {} } })).toMatchObject({
      error_text: expect.stringContaining('session.tasks'),
    })
  })
})
