import type { ModeName } from '../../authority/mode.js'
import type { HookEventName } from '../../hooks/index.js'
import type { ClusterEvent } from '../../loop/events.js'
import type { McpServerOptions } from '../../mcp/server-options.js'
import type { Lane, LaneHandler } from '../../queue/index.js'
import { explainCall } from '../../session/explain-call.js'
import type { HistoryMessage } from '../../session/history-blocks.js'
import type { Attachment, SendRequest } from '../../session/request.js'
import type { Session } from '../../session/session.js'
import type { VerificationCommand } from '../../store/verification.js'
import type { WorkerAgentSpec } from '../../subagents/files/worker-spec.js'
import type { StepSpec } from '../../subagents/orchestrate.js'
import type { JsonObject, JsonSchema } from '../../tool/json.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import type { GivenReport } from '../../verify/index.js'
import type { Params } from '../method.js'
import { textsIn } from '../params.js'
import type { ClientCallbacks } from './client-callbacks.js'
import { flagIn, listIn, numberIn, optionalNumberIn, optionalStringIn, recordIn, stringIn } from './params.js'

/** The arguments of a session method. */
export type SessionCall = {
  readonly session: Session
  readonly params: Params
  readonly callbacks: ClientCallbacks
  readonly signal: AbortSignal
}

/** Methods without parameters. */
const withoutParams = [
  ...(['cancel', 'runs', 'currentRun', 'traceEvents', 'spending'] as const),
  ...(['save', 'suspend', 'history', 'messages', 'unrewind'] as const),
  ...(['todos', 'toolNames', 'toolDefinitions', 'mode', 'modelName'] as const),
  ...(['pendingConfirmations', 'cancelConfirmations', 'hookCount', 'hookStatus', 'listCommands'] as const),
  ...([
    'verificationReports',
    'verificationSummary',
    'verificationSummaryText',
    'verificationPresets',
    'agents',
  ] as const),
  ...(['agentProblems', 'subagentTasks', 'pendingSubagentTasks', 'skills', 'skillProblems'] as const),
  ...(['memoryStats', 'getShortTerm', 'clearShortTerm', 'getWorking', 'clearWorking'] as const),
  ...(['mcpStatus', 'supervisorStatus', 'hasQueue', 'pendingExternalTasks', 'queueStats'] as const),
  ...(['queueMetrics', 'deadLetters'] as const),
] as const

/**
 * The methods of a session that a client can call, by their names in the SDK. Nothing else of a session is
 * accessible. The session validates its arguments, so the casts here are safe.
 */
export const sessionMethods: Readonly<Record<string, (call: SessionCall) => unknown>> = {
  ...Object.fromEntries(withoutParams.map((name) => [name, ({ session }: SessionCall) => session[name]()])),
  // Runs
  send: ({ session, params, signal }) => session.send(sendRequest(params, signal)),
  steer: ({ session, params }) => session.steer(stringIn(params, 'text')),
  btw: ({ session, params }) => session.btw(stringIn(params, 'question')),
  cancelRun: ({ session, params }) => session.cancelRun(stringIn(params, 'runId')),
  resumeRun: ({ session, params, signal }) => resumeRun(session, stringIn(params, 'runId'), signal),
  runSnapshot: ({ session, params }) => session.runSnapshot(stringIn(params, 'runId')),
  runEvents: ({ session, params }) => session.runEvents(stringIn(params, 'runId')),
  setTitle: ({ session, params }) => session.setTitle(stringIn(params, 'title')),
  title: ({ session }) => session.title,
  isClosed: ({ session }) => session.isClosed,
  // Conversation and files
  rewind: ({ session, params }) => session.rewind(stringIn(params, 'messageId')),
  changes: ({ session, params }) =>
    session.changes(optionalStringIn(params, 'runId'), { diff: flagIn(params, 'diff') }),
  undo: ({ session, params }) => session.undo(optionalStringIn(params, 'runId')),
  setAdHocFiles: ({ session, params }) => session.setAdHocFiles(textsIn(params, 'paths')),
  // Tools, rules and approvals
  tool: ({ session, params, signal }) =>
    session.tool(stringIn(params, 'name'), params['args'] ?? {}, { signal }),
  registerTool: ({ session, params, callbacks }) =>
    session.registerTool(callbacks.tool(recordIn(params, 'tool'))),
  unregisterTool: ({ session, params }) => session.unregisterTool(stringIn(params, 'name')),
  setMode: ({ session, params }) => session.setMode(optionalStringIn(params, 'mode') as ModeName | undefined),
  setModel: ({ session, params }) => session.setModel(stringIn(params, 'name')),
  explain: async ({ session, params }) => {
    const { action, text } = await explainCall(session, stringIn(params, 'name'), recordIn(params, 'args'))
    return { action, text }
  },
  confirmToolUse: ({ session, params }) =>
    session.confirmToolUse(
      stringIn(params, 'toolId'),
      flagIn(params, 'approved'),
      optionalStringIn(params, 'reason'),
      reachOf(params['decision']),
    ),
  setBudgetGuard: ({ session, params, callbacks }) =>
    session.setBudgetGuard(
      params['guard'] === null ? null : callbacks.budgetGuard(recordIn(params, 'guard')),
    ),
  // The direct calls that hosts make most
  readFile: ({ session, params }) => session.readFile(stringIn(params, 'path'), rangeOf(params)),
  writeFile: ({ session, params }) =>
    session.writeFile(stringIn(params, 'path'), stringIn(params, 'content')),
  editFile: ({ session, params }) =>
    session.editFile(
      stringIn(params, 'path'),
      stringIn(params, 'oldString'),
      stringIn(params, 'newString'),
      flagIn(params, 'replaceAll'),
    ),
  patchFile: ({ session, params }) => session.patchFile(stringIn(params, 'path'), stringIn(params, 'diff')),
  ls: ({ session, params }) => session.ls(optionalStringIn(params, 'path')),
  glob: ({ session, params }) =>
    session.glob(stringIn(params, 'pattern'), omitUndefined({ path: optionalStringIn(params, 'path') })),
  grep: ({ session, params }) => session.grep(stringIn(params, 'pattern'), recordIn(params, 'options')),
  bash: ({ session, params }) =>
    session.bash(
      stringIn(params, 'command'),
      omitUndefined({ timeout: optionalNumberIn(params, 'timeout') }),
    ),
  git: ({ session, params }) =>
    session.git({ ...recordIn(params, 'options'), command: stringIn(params, 'command') }),
  webSearch: ({ session, params }) =>
    session.webSearch({
      query: stringIn(params, 'query'),
      ...omitUndefined({ limit: optionalNumberIn(params, 'limit') }),
    }),
  program: ({ session, params }) => session.program(recordIn(params, 'program')),
  // Hooks and commands
  registerHook: ({ session, params, callbacks }) =>
    session.registerHook(
      stringIn(params, 'id'),
      stringIn(params, 'event') as HookEventName,
      recordIn(params, 'matcher'),
      recordIn(params, 'config'),
      callbacks.hookHandler(stringIn(params, 'id')),
    ),
  unregisterHook: ({ session, params }) => session.unregisterHook(stringIn(params, 'id')),
  emitClusterEvent: ({ session, params }) =>
    session.emitClusterEvent(recordIn(params, 'event') as ClusterEvent),
  registerCommand: ({ session, params, callbacks }) =>
    session.registerCommand(
      stringIn(params, 'name'),
      stringIn(params, 'description'),
      callbacks.command(stringIn(params, 'name')),
      optionalNumberIn(params, 'timeoutMs'),
    ),
  // Verification and objects
  verifyCommands: ({ session, params, signal }) =>
    session.verifyCommands(stringIn(params, 'subject'), listIn(params, 'commands') as VerificationCommand[], {
      signal,
    }),
  recordVerificationReports: ({ session, params }) =>
    session.recordVerificationReports(listIn(params, 'reports') as GivenReport[]),
  generateObject: ({ session, params, signal }) =>
    session.generateObject(recordIn(params, 'schema') as JsonSchema, {
      ...recordIn(params, 'options'),
      prompt: stringIn(params, 'prompt'),
      signal,
    }),
  // Subagents
  registerAgentDir: ({ session, params }) => session.registerAgentDir(stringIn(params, 'path')),
  registerWorkerAgent: ({ session, params }) =>
    session.registerWorkerAgent(recordIn(params, 'spec') as WorkerAgentSpec),
  task: ({ session, params, signal }) => session.task(recordIn(params, 'task') as never, { signal }),
  tasks: ({ session, params, signal }) => session.tasks(listIn(params, 'tasks') as never, { signal }),
  subagentTask: ({ session, params }) => session.subagentTask(stringIn(params, 'taskId')),
  cancelSubagentTask: ({ session, params }) => session.cancelSubagentTask(stringIn(params, 'taskId')),
  parallel: ({ session, params }) => {
    const steps = listIn(params, 'steps') as StepSpec[]
    const budget = optionalNumberIn(params, 'budgetTokens')
    return budget === undefined ? session.parallel(steps) : session.parallel(steps, budget)
  },
  parallelResumable: ({ session, params }) =>
    session.parallelResumable(listIn(params, 'steps') as StepSpec[], stringIn(params, 'workflowId')),
  // Skills and memory
  rememberSuccess: ({ session, params }) =>
    session.rememberSuccess(stringIn(params, 'prompt'), textsIn(params, 'tools'), stringIn(params, 'result')),
  rememberFailure: ({ session, params }) =>
    session.rememberFailure(stringIn(params, 'prompt'), stringIn(params, 'error'), textsIn(params, 'tools')),
  recallSimilar: ({ session, params }) =>
    session.recallSimilar(stringIn(params, 'query'), optionalNumberIn(params, 'limit')),
  recallByTags: ({ session, params }) =>
    session.recallByTags(textsIn(params, 'tags'), optionalNumberIn(params, 'limit')),
  memoryRecent: ({ session, params }) => session.memoryRecent(optionalNumberIn(params, 'limit')),
  // MCP servers and the supervisor
  addMcpServer: ({ session, params }) =>
    session.addMcpServer(recordIn(params, 'server') as unknown as McpServerOptions),
  removeMcpServer: ({ session, params }) => session.removeMcpServer(stringIn(params, 'name')),
  refreshMcpTools: ({ session, params }) => session.refreshMcpTools(optionalStringIn(params, 'name')),
  disconnectIdleMcp: ({ session, params }) => session.disconnectIdleMcp(numberIn(params, 'thresholdMs')),
  touchMcp: ({ session, params }) => session.touchMcp(stringIn(params, 'name')),
  // Lanes
  setLaneHandler: ({ session, params }) =>
    session.setLaneHandler(stringIn(params, 'lane') as Lane, recordIn(params, 'handler') as LaneHandler),
  completeExternalTask: ({ session, params }) =>
    session.completeExternalTask(stringIn(params, 'taskId'), recordIn(params, 'completion') as never),
}

/** The request of `send` and `stream`. */
export function sendRequest(params: Params, signal?: AbortSignal): SendRequest {
  const { history, attachments, metadata } = params
  return {
    prompt: stringIn(params, 'prompt'),
    ...omitUndefined({
      history: isGiven(history) ? (listIn(params, 'history') as HistoryMessage[]) : undefined,
      attachments: isGiven(attachments) ? (listIn(params, 'attachments') as Attachment[]) : undefined,
      metadata: isGiven(metadata) ? (recordIn(params, 'metadata') as JsonObject) : undefined,
      runId: optionalStringIn(params, 'runId'),
      signal,
    }),
  }
}

/** Resumes a run. A resumed run has no signal of its own: it is cancelled by its id. */
async function resumeRun(session: Session, runId: string, signal: AbortSignal): Promise<unknown> {
  let stop = (): void => undefined
  try {
    return await session.resumeRun(runId, {
      onStart(id) {
        stop = () => void session.cancelRun(id)
        signal.addEventListener('abort', stop, { once: true })
        if (signal.aborted) stop()
      },
    })
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

function rangeOf(params: Params): { offset?: number; limit?: number } {
  return omitUndefined({
    offset: optionalNumberIn(params, 'offset'),
    limit: optionalNumberIn(params, 'limit'),
  })
}

function reachOf(decision: unknown): 'once' | 'session' | 'always' | undefined {
  return decision === 'once' || decision === 'session' || decision === 'always' ? decision : undefined
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}
