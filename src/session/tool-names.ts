// Apart from the tools: the options of a session are checked without loading any. A test compares them.

/** The names that the option `builtinTools` takes. */
export const builtinToolNames: readonly string[] = [
  ...['read', 'write', 'edit', 'patch', 'grep', 'glob', 'ls', 'bash', 'git', 'batch', 'todo', 'question'],
  ...['web_fetch', 'generate_object', 'web_search', 'skill', 'search_skills', 'Skill', 'task'],
  ...['parallel_task', 'tool_search', 'program'],
]

/** The tools that a session has only where its options ask for them. Rules can name them in any session. */
export const optionalToolNames: readonly string[] = ['remember', 'recall', 'forget']
