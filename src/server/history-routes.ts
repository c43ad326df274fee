import { explainCall } from '../session/explain-call.js'
import { HistoryError } from '../session/history/errors.js'
import { historyOf, listMessages } from '../session/history/rewind.js'
import type { FileChangeInfo } from '../session/history/undo.js'
import type { Session } from '../session/session.js'
import { kernelOf } from '../session/session-class.js'
import { isRecord, type JsonSchema } from '../tool/json.js'
import { objectSchema } from '../tool/object-schema.js'
import { ProblemError } from './problem.js'
import { answer, json, listOf, listResponse, type Route, ref, sessionRoute, text } from './route.js'
import { optionalText } from './session-routes.js'
import { readSupposedRules, supposedRules } from './supposed-rules.js'
import { unreadableFor } from './unreadable-files.js'

const anything: JsonSchema = { type: 'object', additionalProperties: true }

/** The history of a session, its changes, tools and statistics. */
export const historyRoutes: readonly Route[] = [
  sessionRoute('GET', '/history', 'getHistory', {
    summary: 'The conversation, with the content of its messages.',
    tag: 'history',
    responses: listResponse('The messages.', 'history', 'HistoryMessage'),
    handle: async ({ session }) =>
      json(200, { history: historyOf(await kernelOf(session).log.conversation.readAll()) }),
  }),
  sessionRoute('GET', '/messages', 'listMessages', {
    summary: 'The messages with their ids, roles and first words.',
    tag: 'history',
    responses: listResponse('The messages.', 'messages', 'Message'),
    handle: async ({ session }) =>
      json(200, { messages: listMessages(await kernelOf(session).log.conversation.readAll()) }),
  }),
  sessionRoute('POST', '/rewind', 'rewindSession', {
    summary: 'Hide a message of the user and everything after it.',
    tag: 'history',
    body: objectSchema({ messageId: text({ minLength: 1 }) }),
    responses: answer(
      'The text of the message, to be sent again, and how many are hidden.',
      objectSchema({ prompt: text(), hidden: { type: 'integer' } }),
    ),
    problems: ['history_conflict', 'session_busy'],
    handle: ({ session, body }) =>
      allowed(async () => json(200, await session.rewind(String(body['messageId'])))),
  }),
  sessionRoute('POST', '/unrewind', 'unrewindSession', {
    summary: 'Undo a rewind, if no message was added since.',
    tag: 'history',
    responses: answer('How many messages are shown again.', objectSchema({ shown: { type: 'integer' } })),
    problems: ['history_conflict', 'session_busy'],
    handle: ({ session }) => allowed(async () => json(200, { shown: await session.unrewind() })),
  }),
  sessionRoute('GET', '/changes', 'listChanges', {
    summary: 'The file changes of tools in a run, or in the last run that changed files.',
    tag: 'history',
    query: { runId: text(), diff: { type: 'boolean', default: false } },
    responses: listResponse('The changes.', 'changes', 'FileChange'),
    problems: ['history_conflict'],
    handle: ({ session, query }) =>
      allowed(async () => json(200, { changes: await changesOf(session, query) })),
  }),
  sessionRoute('POST', '/undo', 'undoChanges', {
    summary: 'Restore the files that a run changed.',
    tag: 'history',
    body: objectSchema({ 'runId?': text() }),
    responses: answer('What was restored and what was not.', ref('UndoOutcome')),
    problems: ['history_conflict', 'session_busy'],
    handle: ({ session, body }) =>
      allowed(async () => json(200, await session.undo(optionalText(body['runId'])))),
  }),
  sessionRoute('GET', '/tools', 'listTools', {
    summary: 'The tools of a session, as the model reads them.',
    tag: 'tools',
    responses: listResponse('The tools.', 'tools', 'Tool'),
    handle: async ({ session }) => json(200, { tools: session.toolDefinitions() }),
  }),
  sessionRoute('POST', '/tools/{toolName}', 'callTool', {
    summary:
      'Call a tool directly, without rules and approvals. Off unless the host enables the tool by name.',
    tag: 'tools',
    body: objectSchema({ 'args?': anything }),
    responses: answer('The result.', ref('ToolResult')),
    problems: ['host_tool_disabled', 'tool_not_found'],
    async handle({ core, session, params, body, request }) {
      const name = params['toolName'] ?? ''
      if (!core.options.hostTools?.includes(name))
        throw new ProblemError(
          'host_tool_disabled',
          `Direct calls of ${JSON.stringify(name)} are not enabled.`,
        )
      if (!session.toolNames().includes(name)) throw new ProblemError('tool_not_found')
      const result = await session.tool(name, body['args'] ?? {}, { signal: request.signal })
      const { output, exitCode, metadata } = result
      return json(200, { name, output, exitCode, metadata })
    },
  }),
  sessionRoute('POST', '/permissions/explain', 'explainCall', {
    summary: 'Why a call of the model would be allowed, asked about or denied. Nothing is run.',
    tag: 'tools',
    body: objectSchema({
      toolName: text({ minLength: 1 }),
      'args?': anything,
      'suppose?': { ...supposedRules, description: 'Rules to judge with; the rules of the session stay.' },
    }),
    responses: answer('The verdict and its reasons.', ref('Explanation')),
    async handle({ session, body }) {
      const rules = readSupposedRules(body['suppose'])
      return json(200, await explainCall(session, String(body['toolName']), body['args'] ?? {}, rules))
    },
  }),
  sessionRoute('GET', '/traces', 'listTraces', {
    summary: 'Every tool call: how it was decided and how it ended.',
    tag: 'tools',
    responses: listResponse('The calls.', 'traces', 'Trace'),
    handle: async ({ session }) => json(200, { traces: session.traceEvents() }),
  }),
  sessionRoute('GET', '/usage', 'getUsage', {
    summary: 'Tokens and cost of all requests of the session to models.',
    tag: 'history',
    responses: answer('The totals, and those of each model.', ref('Usage')),
    handle: async ({ session }) => json(200, session.spending()),
  }),
  sessionRoute('GET', '/context', 'getContext', {
    summary: "What fills the model's context window now, and the size at which it is compacted.",
    tag: 'history',
    responses: answer('The parts and the window, in tokens.', ref('ContextUsage')),
    handle: async ({ session }) => json(200, await session.contextUsage()),
  }),
  sessionRoute('GET', '/todos', 'listTodos', {
    summary: 'The todo list of the model.',
    tag: 'history',
    responses: listResponse('The todos.', 'todos', 'Todo'),
    handle: async ({ session }) => json(200, { todos: session.todos() }),
  }),
  sessionRoute('GET', '/mcp', 'getMcpStatus', {
    summary: 'The MCP servers of a session.',
    tag: 'tools',
    responses: listResponse('The servers.', 'servers', 'McpServer'),
    handle: async ({ session }) => json(200, { servers: await session.mcpStatus() }),
  }),
  sessionRoute('POST', '/side-questions', 'askSideQuestion', {
    summary: 'A side question, answered from the conversation and not added to it.',
    tag: 'runs',
    body: objectSchema({ question: text({ minLength: 1 }) }),
    responses: answer('The answer.', ref('SideAnswer')),
    handle: async ({ session, body }) => json(200, await session.btw(String(body['question']))),
  }),
  sessionRoute('POST', '/objects', 'generateObject', {
    summary: 'An object that fits a JSON Schema.',
    tag: 'runs',
    body: objectSchema({ prompt: text({ minLength: 1 }), schema: anything }),
    responses: answer('The object.', ref('GeneratedObject')),
    async handle({ session, body, request }) {
      const schema = isRecord(body['schema']) ? body['schema'] : {}
      const { object, usage, costUsd } = await session.generateObject(schema, {
        prompt: String(body['prompt']),
        signal: request.signal,
      })
      return json(200, { object, usage, costUsd })
    },
  }),
  sessionRoute('POST', '/verify', 'verifySession', {
    summary:
      'Run checks that the workspace defines. They are direct calls: the host enables them with `verify` among its tools.',
    tag: 'runs',
    body: objectSchema({
      'subject?': text(),
      'checks?': { ...listOf(text()), description: 'Ids of checks; all unless given.' },
    }),
    responses: answer('The report.', ref('Report')),
    problems: ['host_tool_disabled'],
    async handle({ core, session, body, request }) {
      if (!core.options.hostTools?.includes('verify')) throw new ProblemError('host_tool_disabled')
      const wanted = Array.isArray(body['checks']) ? body['checks'] : undefined
      const commands = session
        .verificationPresets()
        .flatMap((preset) => preset.commands)
        .filter(({ id }) => wanted === undefined || wanted.includes(id))
      const subject = optionalText(body['subject']) ?? 'workspace'
      return json(200, await session.verifyCommands(subject, commands, { signal: request.signal }))
    },
  }),
]

/** Returns the changes of a run. A file that rules deny to the agent is listed without its diff. */
async function changesOf(session: Session, query: URLSearchParams): Promise<FileChangeInfo[]> {
  const diff = query.get('diff') === 'true'
  const changes = await session.changes(query.get('runId') ?? undefined, { diff })
  if (!diff) return changes
  const isUnreadable = await unreadableFor(session)
  return Promise.all(
    changes.map(async ({ diff: text, ...change }) =>
      text === undefined || (await isUnreadable(change.path)) ? change : { ...change, diff: text },
    ),
  )
}

/** Converts an error of the history to the problem `history_conflict`, with the message of the session. */
async function allowed(work: () => Promise<Response>): Promise<Response> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof HistoryError ? new ProblemError('history_conflict', error.message) : error
  }
}
