/**
 * The actions that read a session and change nothing, which a principal with `readsOnly` can do. `explainCall` is not
 * one of them: it evaluates any call, so it reveals rules and paths that the session never used.
 */
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
  'listTraces',
  'getUsage',
  'listTodos',
  'getMcpStatus',
  'getQueue',
  'getContext',
  'getCallOutput',
  'listImages',
  'getImage',
])
