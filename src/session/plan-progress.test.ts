import { describe, expect, it } from 'vitest'
import type { AgentEvent } from '../loop/events.js'
import type { Todo, TodoStatus } from '../store/todo.js'
import { PlanProgress } from './plan-progress.js'

const todos = (...steps: readonly [string, TodoStatus][]): Todo[] =>
  steps.map(([content, status]) => ({ content, status }))

function make(start?: readonly Todo[]): {
  plan: PlanProgress
  eventsOf: (act: (emit: (event: AgentEvent) => void) => void) => AgentEvent[]
} {
  return {
    plan: new PlanProgress(start),
    eventsOf(act) {
      const events: AgentEvent[] = []
      act((event) => events.push(event))
      return events
    },
  }
}

describe('a plan', () => {
  it('is the newest list, and emits its changes', () => {
    const { plan, eventsOf } = make()
    const first = todos(['dig', 'in_progress'], ['fill', 'pending'])
    expect(eventsOf((emit) => plan.replace(first, emit))).toEqual([
      { type: 'task_updated', tasks: first },
      { type: 'step_start', step: 'dig', stepNumber: 1, totalSteps: 2 },
    ])
    const second = todos(['dig', 'completed'], ['fill', 'in_progress'])
    expect(eventsOf((emit) => plan.replace(second, emit))).toEqual([
      { type: 'task_updated', tasks: second },
      { type: 'step_end', step: 'dig', stepNumber: 1, totalSteps: 2 },
      { type: 'step_start', step: 'fill', stepNumber: 2, totalSteps: 2 },
    ])
    expect(plan.list()).toEqual(second)
    expect(eventsOf((emit) => plan.replace(second, emit))).toHaveLength(1)
  })

  it('distinguishes steps with the same text', () => {
    const { plan, eventsOf } = make(todos(['test', 'completed'], ['test', 'pending']))
    expect(
      eventsOf((emit) => plan.replace(todos(['test', 'completed'], ['test', 'pending']), emit)).map(
        ({ type }) => type,
      ),
    ).toEqual(['task_updated'])
    expect(
      eventsOf((emit) => plan.replace(todos(['test', 'completed'], ['test', 'in_progress']), emit)).at(-1),
    ).toMatchObject({ type: 'step_start', stepNumber: 2 })
  })

  it('is announced with the first list of a run, or without one when there was none', () => {
    const { plan, eventsOf } = make()
    const types = (act: (emit: (event: AgentEvent) => void) => void) => eventsOf(act).map(({ type }) => type)
    expect(types((emit) => plan.begin('go', true, false, emit))).toEqual(['planning_start'])
    expect(types((emit) => plan.replace([], emit))).toEqual(['task_updated'])
    expect(types((emit) => plan.replace(todos(['a', 'pending']), emit))).toEqual([
      'task_updated',
      'planning_end',
    ])
    expect(types((emit) => plan.replace(todos(['b', 'pending']), emit))).toEqual(['task_updated'])
    expect(types((emit) => plan.finish(emit))).toEqual([])
    plan.begin('again', true, false, () => undefined)
    expect(eventsOf((emit) => plan.finish(emit))).toEqual([
      { type: 'planning_end', plan: [], estimatedSteps: 0 },
    ])
  })

  it('emits the progress of the goal, and its end only when no step is open', () => {
    const { plan, eventsOf } = make()
    expect(eventsOf((emit) => plan.begin('  Fix it. Then rest.', false, true, emit))).toEqual([
      { type: 'goal_extracted', goal: 'Fix it.' },
    ])
    expect(
      eventsOf((emit) => plan.replace(todos(['a', 'completed'], ['b', 'pending']), emit)).at(-1),
    ).toEqual({
      type: 'goal_progress',
      goal: 'Fix it.',
      progress: 0.5,
      completedSteps: 1,
      totalSteps: 2,
    })
    expect(eventsOf((emit) => plan.finish(emit))).toEqual([])
    plan.replace(todos(['a', 'completed'], ['b', 'completed']), () => undefined)
    expect(eventsOf((emit) => plan.finish(emit))).toEqual([
      { type: 'goal_achieved', goal: 'Fix it.', totalSteps: 2 },
    ])
  })

  it('uses at most one line of the prompt as the goal', () => {
    const { plan, eventsOf } = make()
    const goalOf = (prompt: string) => eventsOf((emit) => plan.begin(prompt, false, true, emit))[0]
    expect(goalOf('first line\nsecond')).toMatchObject({ goal: 'first line' })
    expect(goalOf('v1.2 works? Yes')).toMatchObject({ goal: 'v1.2 works?' })
    expect(goalOf('x'.repeat(1_000))).toMatchObject({ goal: 'x'.repeat(200) })
  })
})
