// Separate from the tools, so that the options of a session can be checked without loading any. A test compares the
// names.

/** The names that the option `builtinTools` accepts. */
export const builtinToolNames: readonly string[] = [
  ...['read', 'write', 'edit', 'patch', 'grep', 'glob', 'ls', 'bash', 'git', 'batch', 'todo', 'question'],
  ...['web_fetch', 'generate_object', 'web_search', 'skill', 'search_skills', 'Skill', 'task'],
  ...['parallel_task', 'tool_search', 'program'],
]

/** Tools that a session has only if its options enable them. Rules can name them in any session. */
export const optionalToolNames: readonly string[] = ['remember', 'recall', 'forget']
