/** One item of the task list. */
export type Todo = { readonly content: string; readonly status: TodoStatus }

/** The state of an item of the task list. */
export type TodoStatus = 'pending' | 'in_progress' | 'completed'

declare module '../tool/session-services.js' {
  interface RuntimeSession {
    /** The task list of the session. */
    readonly todos?: {
      list(): readonly Todo[]
      replace(todos: readonly Todo[]): void | Promise<void>
    }
  }
}
