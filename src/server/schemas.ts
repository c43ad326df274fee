import type { JsonSchema } from '../tool/json.js'
import { retryProblems } from './problem.js'
import { listOf, ref, text } from './route.js'

const number: JsonSchema = { type: 'number' }
const integer: JsonSchema = { type: 'integer' }
const anything: JsonSchema = { type: 'object', additionalProperties: true }

/** An object of an answer: a later version can add fields. */
function shape(properties: Readonly<Record<string, JsonSchema>>, required: readonly string[]): JsonSchema {
  return { type: 'object', properties: { ...properties }, required: [...required] }
}

/** The shapes that answers refer to by name. */
export const componentSchemas: Readonly<Record<string, JsonSchema>> = {
  Problem: shape(
    {
      type: text(),
      status: integer,
      title: text(),
      detail: text(),
      code: text({ description: 'Stable: programs decide by it.' }),
    },
    ['type', 'status', 'title', 'code'],
  ),
  Session: shape(
    {
      sessionId: text(),
      workspace: text(),
      title: { type: ['string', 'null'] },
      status: text({ enum: ['idle', 'running'] }),
      mode: { type: ['string', 'null'] },
      model: { type: ['string', 'null'] },
      tenantId: { type: ['string', 'null'] },
      principal: { type: ['string', 'null'] },
      warning: { type: ['string', 'null'] },
    },
    ['sessionId', 'workspace', 'title', 'status'],
  ),
  SessionInfo: shape(
    {
      sessionId: text(),
      workspace: text(),
      title: { type: ['string', 'null'] },
      createdAtMs: number,
      updatedAtMs: number,
      parentId: text(),
      labels: shape(
        { tenantId: text(), principal: text(), agentTemplateId: text(), correlationId: text() },
        [],
      ),
      summary: ref('SessionSummary'),
    },
    ['sessionId'],
  ),
  SessionSummary: shape(
    {
      status: text({
        enum: ['running', 'waiting', 'interrupted', 'failed', 'cancelled', 'completed', 'idle'],
      }),
      agent: text(),
      model: text(),
      principal: text({ description: 'Who opened the session.' }),
      isSubagent: { type: 'boolean' },
      runs: integer,
      messages: integer,
      totalTokens: integer,
      costUsd: number,
      prompt: text({ description: 'The beginning of the first prompt.' }),
    },
    ['status', 'isSubagent', 'runs', 'messages', 'totalTokens'],
  ),
  Run: shape(
    {
      runId: text(),
      sessionId: text(),
      status: text({ enum: ['queued', 'running', 'completed', 'failed', 'cancelled', 'interrupted'] }),
      prompt: text(),
      createdAtMs: number,
      updatedAtMs: number,
      eventCount: integer,
      resultText: text(),
      error: text(),
      resumedFrom: text(),
      usage: anything,
      costUsd: number,
    },
    ['runId', 'sessionId', 'status', 'prompt'],
  ),
  StartedRun: shape({ runId: text(), sessionId: text(), status: text() }, ['runId', 'sessionId']),
  Event: {
    type: 'object',
    description: 'An event of the SDK, unchanged. `type` names its kind.',
    properties: { type: text(), result: ref('RunResult') },
    required: ['type'],
    additionalProperties: true,
  },
  /** The `result` of `agent_end`. */
  RunResult: shape(
    {
      runId: text(),
      text: text(),
      finish: text({ description: 'Why the run ended.' }),
      rounds: integer,
      toolCallsCount: integer,
      promptTokens: integer,
      completionTokens: integer,
      totalTokens: integer,
      usage: anything,
      costUsd: number,
      fallbackModel: text({
        description:
          'The fallback model that gave the last answer, as `provider/model`. Absent when none did.',
      }),
      circuitsOpened: {
        type: 'array',
        items: text(),
        description:
          'The models whose circuits opened during the run, as `provider/model`. Absent when none did.',
      },
      goal: shape(
        {
          met: { type: 'boolean' },
          reason: text({ enum: ['met', 'rounds', 'time', 'cost', 'stopped'] }),
          checks: integer,
          elapsedMs: number,
          costUsd: number,
          detail: text(),
        },
        ['met', 'reason', 'checks', 'elapsedMs'],
      ),
      verificationStatus: text(),
    },
    ['runId', 'text', 'finish', 'rounds', 'toolCallsCount', 'totalTokens', 'usage'],
  ),
  Approval: shape(
    {
      callId: text(),
      toolName: text(),
      args: {},
      reasons: listOf(text()),
      rules: {
        ...listOf(text()),
        description:
          'The rules that the decisions `session` and `always` add; empty when none is safe to offer.',
      },
      notes: listOf(text()),
      diff: text(),
      digest: text({ description: 'What the approval is bound to.' }),
      remainingMs: number,
      fromBefore: {
        type: 'boolean',
        description: 'Asked by a process that has ended; the answer resumes the run.',
      },
    },
    ['callId', 'toolName', 'reasons', 'rules', 'digest'],
  ),
  Decision: shape({ callId: text(), decision: text(), runId: text() }, ['callId', 'decision']),
  Question: shape(
    {
      questionId: text(),
      questions: listOf(anything),
      askedAtMs: number,
      agent: text(),
      fromBefore: {
        type: 'boolean',
        description: 'Asked by a process that has ended; the answer resumes the run.',
      },
    },
    ['questionId', 'questions'],
  ),
  Message: shape({ id: text(), role: text(), text: text(), createdAtMs: number, runId: text() }, [
    'id',
    'role',
    'text',
  ]),
  HistoryMessage: {
    type: 'object',
    properties: { role: text() },
    required: ['role'],
    additionalProperties: true,
  },
  FileChange: shape(
    {
      path: text(),
      kind: text(),
      added: integer,
      removed: integer,
      diff: text(),
      undone: { type: 'boolean' },
      whyNot: text(),
    },
    ['path', 'kind'],
  ),
  UndoOutcome: shape({ undoId: text(), runId: text(), restored: listOf(text()), refused: listOf(anything) }, [
    'undoId',
    'runId',
    'restored',
    'refused',
  ]),
  Tool: shape({ name: text(), description: text(), kind: text(), title: text(), parameters: anything }, [
    'name',
    'description',
  ]),
  ToolResult: shape({ name: text(), output: text(), exitCode: integer, metadata: anything }, [
    'name',
    'output',
    'exitCode',
  ]),
  Explanation: shape(
    {
      action: text({ enum: ['allow', 'ask', 'deny'] }),
      text: text(),
      judged: { ...anything, description: 'The answer of each layer of rules, and each rule that matches.' },
      watchdog: anything,
    },
    ['action', 'text', 'judged', 'watchdog'],
  ),
  Trace: anything,
  Usage: shape({ usage: anything, costUsd: number, models: listOf(anything) }, ['usage']),
  ContextUsage: shape(
    {
      model: text(),
      windowTokens: integer,
      windowAssumed: { type: 'boolean', description: 'The window is a guess.' },
      usedTokens: integer,
      counted: { type: 'boolean' },
      parts: listOf(
        shape({ name: text(), tokens: integer, count: integer, largest: listOf(anything) }, [
          'name',
          'tokens',
          'count',
        ]),
      ),
      compaction: shape({ auto: { type: 'boolean' }, atTokens: integer }, ['auto', 'atTokens']),
    },
    ['model', 'windowTokens', 'windowAssumed', 'usedTokens', 'parts', 'compaction'],
  ),
  Todo: shape({ content: text(), status: text() }, []),
  McpServer: shape(
    {
      name: text(),
      state: text({ enum: ['idle', 'connecting', 'connected', 'down', 'disabled'] }),
      connected: { type: 'boolean' },
      toolCount: integer,
      confined: { type: 'boolean' },
      sandbox: text(),
      error: text(),
      failure: anything,
      problems: listOf(text()),
      needsSignIn: { type: 'boolean', description: 'A user has to sign in first.' },
    },
    ['name', 'state', 'connected', 'toolCount', 'confined'],
  ),
  Schedule: shape(
    {
      name: text(),
      sessionId: text(),
      cron: text(),
      timeZone: text(),
      triggers: listOf(text({ enum: ['webhook', 'file', 'wake_up'] })),
      running: { type: 'boolean' },
      nextFireAtMs: number,
      last: ref('Fire'),
      recent: { ...listOf(ref('Fire')), description: 'The newest fires of the log, newest first.' },
    },
    ['name', 'sessionId', 'timeZone', 'triggers', 'running', 'recent'],
  ),
  Fire: shape(
    {
      firedAtMs: { ...number, description: 'When it was due.' },
      startedAtMs: number,
      endedAtMs: number,
      status: text({
        enum: ['queued', 'running', 'completed', 'failed', 'cancelled', 'interrupted', 'skipped'],
      }),
      source: text({ enum: ['schedule', 'api', 'webhook', 'file', 'wake_up'] }),
      runId: text(),
      reason: text({
        description: 'Why it was skipped.',
        enum: ['overlap', 'missed', 'elsewhere', 'stopped'],
      }),
      text: text({ description: 'The beginning of the answer.' }),
      error: text(),
    },
    ['firedAtMs', 'startedAtMs', 'status', 'source'],
  ),
  ClusterStatus: shape(
    {
      nodes: listOf(
        shape(
          {
            id: text(),
            name: text(),
            host: text(),
            pid: integer,
            version: text(),
            slots: integer,
            lanes: listOf(text()),
            startedAtMs: number,
            seenAtMs: number,
            active: integer,
            isDraining: { type: 'boolean' },
          },
          ['id', 'name', 'host', 'slots', 'lanes', 'startedAtMs', 'seenAtMs', 'active', 'isDraining'],
        ),
      ),
      lanes: listOf(
        shape({ lane: text(), queued: integer, active: integer, oldestWaitMs: number }, [
          'lane',
          'queued',
          'active',
          'oldestWaitMs',
        ]),
      ),
      waiting: integer,
      dead: integer,
      ended: shape({ completed: integer, failed: integer, cancelled: integer }, [
        'completed',
        'failed',
        'cancelled',
      ]),
      takeovers: integer,
    },
    ['nodes', 'lanes', 'waiting', 'dead', 'ended', 'takeovers'],
  ),
  DeadRun: shape(
    {
      runId: text(),
      sessionId: text(),
      prompt: text(),
      lane: text(),
      tenantId: text(),
      submittedAtMs: number,
      updatedAtMs: number,
      attempt: integer,
      error: shape({ code: text(), message: text() }, ['code', 'message']),
    },
    ['runId', 'sessionId', 'prompt', 'lane', 'submittedAtMs', 'updatedAtMs', 'attempt'],
  ),
  LaneQueue: shape(
    {
      lanes: listOf(
        shape({ lane: text(), pending: integer, active: integer, mode: text() }, [
          'lane',
          'pending',
          'active',
          'mode',
        ]),
      ),
      tasks: {
        ...listOf(
          shape({ taskId: text(), lane: text(), toolName: text(), attempt: integer }, [
            'taskId',
            'lane',
            'toolName',
            'attempt',
          ]),
        ),
        description: 'Calls that workers of other processes have.',
      },
      deadLetters: listOf(
        shape(
          {
            commandId: text(),
            toolName: text(),
            lane: text(),
            args: {},
            error: text(),
            attempts: integer,
            failedAtMs: number,
            mayHaveRun: { type: 'boolean' },
            canRetry: { type: 'boolean', description: 'The server can make the call again.' },
            retryProblem: text({
              enum: [...retryProblems],
              description: 'Why it cannot; absent when it can.',
            }),
          },
          ['commandId', 'toolName', 'lane', 'error', 'attempts', 'failedAtMs', 'mayHaveRun', 'canRetry'],
        ),
      ),
      counters: { type: 'object', additionalProperties: integer },
    },
    ['lanes', 'tasks', 'deadLetters'],
  ),
  SideAnswer: shape({ question: text(), answer: text(), totalTokens: integer, costUsd: number }, [
    'question',
    'answer',
  ]),
  GeneratedObject: {
    type: 'object',
    properties: { object: {} },
    required: ['object'],
    additionalProperties: true,
  },
  Report: anything,
}
