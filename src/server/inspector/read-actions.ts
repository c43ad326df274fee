/** The actions that read a session and change nothing: what a principal with `readsOnly` can do. */
export const readActions: ReadonlySet<string> = new Set([
  'getSession',
  'listRuns',
  'getRun',
  'watchRun',
  'listRunEvents',
  'listApprovals',
  'listQuestions',
  'getHistory',
  'listMessages',
  'listChanges',
  'listTools',
  'explainCall',
  'listTraces',
  'getUsage',
  'listTodos',
  'getMcpStatus',
])
