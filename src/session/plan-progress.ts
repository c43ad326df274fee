import type { AgentEvent } from '../loop/events.js'
import type { Todo } from '../store/todo.js'

export interface PlanProgress {
  list(): readonly Todo[]
  /** Takes the new list and emits what changed. */
  replace(todos: readonly Todo[], emit: (event: AgentEvent) => void): void
  /** A run begins. */
  begin(prompt: string, planning: boolean, goalTracking: boolean, emit: (event: AgentEvent) => void): void
  /** A run has ended well. */
  finish(emit: (event: AgentEvent) => void): void
}

/**
 * The session's list of what there is to do: its plan. Progress is emitted as events and is nothing but what the list
 * says.
 */
export function createPlanProgress(start: readonly Todo[] = []): PlanProgress {
  let todos: readonly Todo[] = start
  let planned = false
  let planning = false
  let goal: string | undefined
  return {
    list: () => todos,
    replace(next, emit) {
      const before = todos
      todos = next
      emit({ type: 'task_updated', tasks: next })
      if (planning && !planned && next.length > 0) {
        planned = true
        emit({ type: 'planning_end', plan: next, estimatedSteps: next.length })
      }
      emitSteps(before, next, emit)
      if (goal === undefined || next.length === 0) return
      const completedSteps = next.filter(({ status }) => status === 'completed').length
      const progress = completedSteps / next.length
      emit({ type: 'goal_progress', goal, progress, completedSteps, totalSteps: next.length })
    },
    begin(prompt, plans, goalTracking, emit) {
      planned = false
      planning = plans
      goal = goalTracking ? firstSentence(prompt) : undefined
      if (goal !== undefined) emit({ type: 'goal_extracted', goal })
      if (planning) emit({ type: 'planning_start', prompt })
    },
    finish(emit) {
      if (planning && !planned) emit({ type: 'planning_end', plan: [], estimatedSteps: 0 })
      const open = todos.some(({ status }) => status !== 'completed')
      if (goal !== undefined && !open) emit({ type: 'goal_achieved', goal, totalSteps: todos.length })
    },
  }
}

function emitSteps(before: readonly Todo[], now: readonly Todo[], emit: (event: AgentEvent) => void): void {
  const known = new Map(inOrder(before).map(({ key, status }) => [key, status]))
  for (const [at, { key, content, status }] of inOrder(now).entries()) {
    const was = known.get(key)
    const step = { step: content, stepNumber: at + 1, totalSteps: now.length }
    if (status === 'completed' && was !== 'completed') emit({ type: 'step_end', ...step })
    if (status === 'in_progress' && was !== 'in_progress') emit({ type: 'step_start', ...step })
  }
}

/** Steps may have the same words: then the first of them stays the first. */
function inOrder(todos: readonly Todo[]): (Todo & { readonly key: string })[] {
  const times = new Map<string, number>()
  return todos.map((todo) => {
    const time = (times.get(todo.content) ?? 0) + 1
    times.set(todo.content, time)
    return { ...todo, key: `${time} ${todo.content}` }
  })
}

function firstSentence(prompt: string): string {
  const [first = ''] = prompt.trim().split(/(?<=[.!?])\s|\n/)
  return first.slice(0, 200)
}
