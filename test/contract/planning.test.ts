import { describe, expect, it } from 'vitest'
import type { AgentEvent } from '../../src/loop/events.js'
import { bodyOf, calls, eventsOf, ofType, openSession, toolResults } from './open-session.js'

const plan = (first: string, second: string) =>
  calls([
    'todo',
    {
      todos: [
        { content: 'look', status: first },
        { content: 'change', status: second },
      ],
    },
  ])

function typesOf(events: readonly AgentEvent[], ...types: AgentEvent['type'][]): string[] {
  return events.flatMap(({ type }) => (types.includes(type) ? [type] : []))
}

describe('planningMode enabled', () => {
  it('makes the model plan first, and emits the changes of the plan', async () => {
    const { server, session } = await openSession(
      [
        plan('in_progress', 'pending'),
        plan('completed', 'in_progress'),
        plan('completed', 'completed'),
        'done',
      ],
      { planningMode: 'enabled' },
    )
    const events = await eventsOf(session, 'build it')
    expect(bodyOf(server, 0).tool_choice).toMatchObject({ function: { name: 'todo' } })
    for (const n of [1, 2, 3]) expect(bodyOf(server, n).tool_choice ?? 'auto').toBe('auto')
    expect(
      typesOf(events, 'planning_start', 'planning_end', 'step_start', 'step_end', 'task_updated'),
    ).toEqual([
      'planning_start',
      'task_updated',
      'planning_end',
      'step_start',
      'task_updated',
      'step_end',
      'step_start',
      'task_updated',
      'step_end',
    ])
    expect(ofType(events, 'planning_end')).toMatchObject([
      { estimatedSteps: 2, plan: [{ content: 'look' }, { content: 'change' }] },
    ])
    expect(ofType(events, 'step_end')).toMatchObject([
      { step: 'look', stepNumber: 1, totalSteps: 2 },
      { step: 'change', stepNumber: 2, totalSteps: 2 },
    ])
    expect(session.todos()).toMatchObject([
      { content: 'look', status: 'completed' },
      { content: 'change', status: 'completed' },
    ])
  })

  it('ends planning also for a model that makes no plan', async () => {
    const { session } = await openSession(['no plan needed'], { planningMode: 'enabled' })
    const events = await eventsOf(session, 'x')
    expect(typesOf(events, 'planning_start', 'planning_end')).toEqual(['planning_start', 'planning_end'])
  })

  it.each(['auto', 'disabled'] as const)('is not forced by %s', async (planningMode) => {
    const { server, session } = await openSession(['ok'], { planningMode })
    const events = await eventsOf(session, 'x')
    expect(bodyOf(server, 0).tool_choice ?? 'auto').toBe('auto')
    expect(ofType(events, 'planning_start')).toEqual([])
  })
})

describe('goalTracking', () => {
  it('emits the goal, the progress and its completion', async () => {
    const { session } = await openSession(
      [plan('completed', 'pending'), plan('completed', 'completed'), 'done'],
      { goalTracking: true },
    )
    const events = await eventsOf(session, 'Fix the build. Then report.')
    expect(ofType(events, 'goal_extracted')).toEqual([{ type: 'goal_extracted', goal: 'Fix the build.' }])
    expect(ofType(events, 'goal_progress').map(({ progress }) => progress)).toEqual([0.5, 1])
    expect(ofType(events, 'goal_achieved')).toMatchObject([{ goal: 'Fix the build.', totalSteps: 2 }])
  })

  it('emits no success while steps are open', async () => {
    const { session } = await openSession([plan('completed', 'pending'), 'gave up'], { goalTracking: true })
    expect(ofType(await eventsOf(session, 'x'), 'goal_achieved')).toEqual([])
  })
})

describe('questions of the model', () => {
  const asks = calls([
    'question',
    { questions: [{ question: 'Which one?', options: [{ label: 'a' }, { label: 'b' }] }] },
  ])

  it('are answered by the host', async () => {
    const { server, session } = await openSession([asks, 'done'], {
      onQuestion: () => ({ answers: [['b']] }),
    })
    const events = await eventsOf(session, 'x')
    expect(ofType(events, 'user_question')).toMatchObject([{ questions: [{ question: 'Which one?' }] }])
    expect(JSON.parse(toolResults(server, 1)[0] ?? '')).toEqual({ answers: [['b']] })
  })

  it('are refused at once when there is no user', async () => {
    const { server, session } = await openSession([asks, 'done'])
    expect((await session.send('x')).text).toBe('done')
    expect(toolResults(server, 1)[0]).toMatch(/No user can answer/)
  })

  it('do not delay a run that is cancelled', async () => {
    const { session } = await openSession([asks, 'done'], {
      onQuestion: () => new Promise<never>(() => undefined),
    })
    const stream = await session.stream('x')
    const types: string[] = []
    for await (const event of stream) {
      types.push(event.type)
      if (event.type === 'user_question') session.cancel()
    }
    expect(types.at(-1)).toBe('agent_cancelled')
  })
})
