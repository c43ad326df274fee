import type { AgentEvent } from '../loop/events.js'
import type { Todo } from '../store/todo.js'

type Emit = (event: AgentEvent) => void

/** The session's todo list, which is its plan. Progress is emitted as events, and is derived from the list. */
export class PlanProgress {
  #todos: readonly Todo[]
  #planned = false
  #planning = false
  #goal: string | undefined

  constructor(start: readonly Todo[] = []) {
    this.#todos = start
  }

  list(): readonly Todo[] {
    return this.#todos
  }

  /** Replaces the list and emits the changes. */
  replace(next: readonly Todo[], emit: Emit): void {
    const before = this.#todos
    this.#todos = next
    emit({ type: 'task_updated', tasks: next })
    if (this.#planning && !this.#planned && next.length > 0) {
      this.#planned = true
      emit({ type: 'planning_end', plan: next, estimatedSteps: next.length })
    }
    emitSteps(before, next, emit)
    const goal = this.#goal
    if (goal === undefined || next.length === 0) return
    const completedSteps = next.filter(({ status }) => status === 'completed').length
    const progress = completedSteps / next.length
    emit({ type: 'goal_progress', goal, progress, completedSteps, totalSteps: next.length })
  }

  /** Starts tracking for a run that begins. */
  begin(prompt: string, planning: boolean, goalTracking: boolean, emit: Emit): void {
    this.#planned = false
    this.#planning = planning
    this.#goal = goalTracking ? firstSentence(prompt) : undefined
    if (this.#goal !== undefined) emit({ type: 'goal_extracted', goal: this.#goal })
    if (planning) emit({ type: 'planning_start', prompt })
  }

  /** Emits the end of a run that succeeded. */
  finish(emit: Emit): void {
    if (this.#planning && !this.#planned) emit({ type: 'planning_end', plan: [], estimatedSteps: 0 })
    const isOpen = this.#todos.some(({ status }) => status !== 'completed')
    if (this.#goal !== undefined && !isOpen)
      emit({ type: 'goal_achieved', goal: this.#goal, totalSteps: this.#todos.length })
  }
}

function emitSteps(before: readonly Todo[], now: readonly Todo[], emit: Emit): void {
  const known = new Map(inOrder(before).map(({ key, status }) => [key, status]))
  for (const [at, { key, content, status }] of inOrder(now).entries()) {
    const was = known.get(key)
    const step = { step: content, stepNumber: at + 1, totalSteps: now.length }
    if (status === 'completed' && was !== 'completed') emit({ type: 'step_end', ...step })
    if (status === 'in_progress' && was !== 'in_progress') emit({ type: 'step_start', ...step })
  }
}

/** Adds keys to the steps. Steps may have the same text: they are then distinguished by their order. */
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
