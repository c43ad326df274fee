/**
 * The actions that read a session and change nothing: what a principal with `readsOnly` can do. `explainCall` is not
 * one of them: it judges any call, so it shows rules and paths that the session never used.
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
