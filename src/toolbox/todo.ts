import type { Todo, TodoStatus } from '../store/todo.js'
import type { ToolCallContext } from '../tool/contract.js'
import { builtInTool } from '../tool/create-json-tool.js'
import { CapstanError, markErrorClass } from '../tool/errors.js'
import { objectSchema } from '../tool/object-schema.js'
import { MissingServiceError, requireService } from './require-service.js'
import { visibleLine } from './untrusted-text.js'

/** Thrown for an invalid task list. */
export class TodoListError extends CapstanError {
  constructor(message: string) {
    super('todo_list_invalid', message)
  }
}

markErrorClass(TodoListError, 'TodoListError')

const maxTodos = 200
const maxTodoLength = 1_000

/** Saves the session's task list, which the host can show. */
export const todoTool = builtInTool<{ todos?: Todo[] }, string>({
  name: 'todo',
  description:
    'The list of your steps, which the user sees. `todos` replaces the whole list: send every item; leave it out to ' +
    'read the list. For work of three steps and more. At most one item is in_progress.',
  kind: 'other',
  idempotent: true,
  parameters: objectSchema({
    'todos?': {
      type: 'array',
      maxItems: maxTodos,
      items: objectSchema({
        content: { type: 'string', minLength: 1, maxLength: maxTodoLength },
        status: { enum: ['pending', 'in_progress', 'completed'] },
      }),
    },
  }),
  execute: keepList,
})

async function keepList({ todos }: { todos?: Todo[] }, context: ToolCallContext): Promise<string> {
  const list = requireService(context, 'session').todos
  if (list === undefined) throw new MissingServiceError('session.todos')
  if (todos === undefined) return render(list.list())
  const clean = todos.map(({ content, status }, at) => ({ content: cleanContent(content, at), status }))
  assertOneInProgress(clean)
  await list.replace(clean)
  return render(clean)
}

/** Returns one line without control characters, because terminals show it. */
function cleanContent(content: string, at: number): string {
  const line = visibleLine(content, maxTodoLength)
  if (line === '') throw new TodoListError(`Item ${at + 1} has no visible text. Say what is to be done.`)
  return line
}

function assertOneInProgress(todos: readonly Todo[]): void {
  const [first, second] = todos.flatMap(({ status }, at) => (status === 'in_progress' ? [at] : []))
  if (first === undefined || second === undefined) return
  const name = (at: number): string =>
    `${at + 1} (${JSON.stringify(visibleLine(todos[at]?.content ?? '', 60))})`
  throw new TodoListError(
    `At most one item is in_progress, and items ${name(first)} and ${name(second)} both are. Nothing was changed; set one of them to pending or completed.`,
  )
}

const marks: Readonly<Record<TodoStatus, string>> = { pending: '[ ]', in_progress: '[>]', completed: '[x]' }

function render(todos: readonly Todo[]): string {
  if (todos.length === 0) return 'The list is empty.'
  const count = (status: TodoStatus): number => todos.filter((todo) => todo.status === status).length
  const counts = `${count('completed')} of ${todos.length} completed, ${count('in_progress')} in progress, ${count('pending')} pending`
  return [...todos.map(({ content, status }) => `${marks[status]} ${content}`), counts].join('\n')
}
