import type { SubagentEvent } from '../../../loop/events.js'
import type { Colors } from '../../terminal/colors.js'
import { safeLine } from '../../terminal/safe-text.js'
import { wrapText } from '../../terminal/wrap.js'
import { counted } from './figures.js'

type Task = { readonly name: string; readonly description: string; progress: string }

/**
 * Shows what subagents do. Each line has the agent and the task, because several agents with the same name can run at
 * once.
 */
export class TaskLines {
  readonly #tasks = new Map<string, Task>()

  /** The lines to print for an event; none for progress, which `live` shows. */
  linesFor(event: SubagentEvent, { dim, green, red }: Colors, columns: number): string[] {
    const lines = (paint: (text: string) => string, text: string): string[] =>
      wrapText(safeLine(text, 1_000), columns, '  ').map(paint)
    if (event.type === 'subagent_start') {
      const task = { name: event.agent, description: event.description, progress: '' }
      this.#tasks.set(event.taskId, task)
      return lines(dim, `${event.agent} started: ${event.description}`)
    }
    const task = this.#tasks.get(event.taskId)
    if (event.type === 'subagent_progress') {
      const { toolCalls } = event.metadata
      if (task !== undefined) task.progress = `${event.status}, ${counted(toolCalls, 'call')} so far`
      return []
    }
    this.#tasks.delete(event.taskId)
    const name = task === undefined ? event.agent : `${task.name} (${task.description})`
    return event.success
      ? lines(green, `${name} is done`)
      : lines(red, `${name} failed: ${event.error ?? 'unknown error'}`)
  }

  /** The current state of each running subagent. */
  live(): string[] {
    return [...this.#tasks.values()].map(
      ({ name, description, progress }) =>
        `${safeLine(name, 60)} (${safeLine(description, 100)})${progress === '' ? '' : `: ${safeLine(progress, 200)}`}`,
    )
  }
}
