// Written by test/server/client-operations.test.ts with UPDATE_CLIENT=1 from the table of routes. Do not edit.

/** Every operation of the server: its method and path. */
export const operations = {
  getHealth: 'GET /healthz',
  getReadiness: 'GET /readyz',
  getMetrics: 'GET /metrics',
  watchAll: 'GET /v1/events',
  getOpenApi: 'GET /v1/openapi.json',
  createSession: 'POST /v1/sessions',
  listSessions: 'GET /v1/sessions',
  importSession: 'POST /v1/sessions/import',
  getSession: 'GET /v1/sessions/{sessionId}',
  updateSession: 'PATCH /v1/sessions/{sessionId}',
  deleteSession: 'DELETE /v1/sessions/{sessionId}',
  closeSession: 'POST /v1/sessions/{sessionId}/close',
  forkSession: 'POST /v1/sessions/{sessionId}/fork',
  exportSession: 'GET /v1/sessions/{sessionId}/export',
  startRun: 'POST /v1/sessions/{sessionId}/runs',
  listRuns: 'GET /v1/sessions/{sessionId}/runs',
  sendMessage: 'POST /v1/sessions/{sessionId}/messages',
  listMessages: 'GET /v1/sessions/{sessionId}/messages',
  getRun: 'GET /v1/sessions/{sessionId}/runs/{runId}',
  watchRun: 'GET /v1/sessions/{sessionId}/runs/{runId}/events',
  cancelRun: 'POST /v1/sessions/{sessionId}/runs/{runId}/cancel',
  steerRun: 'POST /v1/sessions/{sessionId}/runs/{runId}/steer',
  resumeRun: 'POST /v1/sessions/{sessionId}/runs/{runId}/resume',
  listApprovals: 'GET /v1/sessions/{sessionId}/approvals',
  answerApproval: 'POST /v1/sessions/{sessionId}/approvals/{callId}',
  listQuestions: 'GET /v1/sessions/{sessionId}/questions',
  answerQuestion: 'POST /v1/sessions/{sessionId}/questions/{questionId}',
  getHistory: 'GET /v1/sessions/{sessionId}/history',
  rewindSession: 'POST /v1/sessions/{sessionId}/rewind',
  unrewindSession: 'POST /v1/sessions/{sessionId}/unrewind',
  listChanges: 'GET /v1/sessions/{sessionId}/changes',
  undoChanges: 'POST /v1/sessions/{sessionId}/undo',
  listTools: 'GET /v1/sessions/{sessionId}/tools',
  callTool: 'POST /v1/sessions/{sessionId}/tools/{toolName}',
  explainCall: 'POST /v1/sessions/{sessionId}/permissions/explain',
  listTraces: 'GET /v1/sessions/{sessionId}/traces',
  getUsage: 'GET /v1/sessions/{sessionId}/usage',
  getContext: 'GET /v1/sessions/{sessionId}/context',
  listTodos: 'GET /v1/sessions/{sessionId}/todos',
  getMcpStatus: 'GET /v1/sessions/{sessionId}/mcp',
  askSideQuestion: 'POST /v1/sessions/{sessionId}/side-questions',
  generateObject: 'POST /v1/sessions/{sessionId}/objects',
  verifySession: 'POST /v1/sessions/{sessionId}/verify',
  listSchedules: 'GET /v1/schedules',
  getCluster: 'GET /v1/cluster',
  getQueue: 'GET /v1/sessions/{sessionId}/queue',
  retryDeadLetter: 'POST /v1/sessions/{sessionId}/queue/dead-letters/{commandId}/retry',
  chat: 'POST /v1/chat',
  resumeChat: 'GET /v1/chat/{id}/stream',
  agUi: 'POST /v1/ag-ui',
  listRunEvents: 'GET /v1/sessions/{sessionId}/runs/{runId}/log',
  getCallOutput: 'GET /v1/sessions/{sessionId}/runs/{runId}/calls/{callId}/output',
  listImages: 'GET /v1/sessions/{sessionId}/images',
  getImage: 'GET /v1/sessions/{sessionId}/images/{imageId}',
  getInspector: 'GET /v1/inspector',
  createInspectorCode: 'POST /v1/inspector/codes',
  signIn: 'POST /v1/inspector/sign-in',
  signOut: 'POST /v1/inspector/sign-out',
  listLinks: 'GET /v1/sessions/{sessionId}/links',
  createLink: 'POST /v1/sessions/{sessionId}/links',
  revokeLink: 'DELETE /v1/sessions/{sessionId}/links/{linkId}',
} as const

export type Problem = {
  type: string
  status: number
  title: string
  detail?: string | undefined
  code: string
}

export type Session = {
  sessionId: string
  workspace: string
  title: string | null
  status: 'idle' | 'running'
  mode?: string | null | undefined
  model?: string | null | undefined
  tenantId?: string | null | undefined
  principal?: string | null | undefined
  warning?: string | null | undefined
}

export type SessionInfo = {
  sessionId: string
  workspace?: string | undefined
  title?: string | null | undefined
  createdAtMs?: number | undefined
  updatedAtMs?: number | undefined
  parentId?: string | undefined
  labels?:
    | {
        tenantId?: string | undefined
        principal?: string | undefined
        agentTemplateId?: string | undefined
        correlationId?: string | undefined
      }
    | undefined
  summary?: SessionSummary | undefined
}

export type SessionSummary = {
  status: 'running' | 'waiting' | 'interrupted' | 'failed' | 'cancelled' | 'completed' | 'idle'
  agent?: string | undefined
  model?: string | undefined
  principal?: string | undefined
  isSubagent: boolean
  runs: number
  messages: number
  totalTokens: number
  costUsd?: number | undefined
  prompt?: string | undefined
}

export type Run = {
  runId: string
  sessionId: string
  status: 'queued' | 'running' | 'completed' | 'failed' | 'cancelled' | 'interrupted'
  prompt: string
  createdAtMs?: number | undefined
  updatedAtMs?: number | undefined
  eventCount?: number | undefined
  resultText?: string | undefined
  error?: string | undefined
  resumedFrom?: string | undefined
  usage?: Record<string, unknown> | undefined
  costUsd?: number | undefined
}

export type StartedRun = { runId: string; sessionId: string; status?: string | undefined }

export type EventData = { type: string; result?: RunResult | undefined; [more: string]: unknown }

export type RunResult = {
  runId: string
  text: string
  finish: string
  rounds: number
  toolCallsCount: number
  promptTokens?: number | undefined
  completionTokens?: number | undefined
  totalTokens: number
  usage: Record<string, unknown>
  costUsd?: number | undefined
  fallbackModel?: string | undefined
  circuitsOpened?: string[] | undefined
  goal?:
    | {
        met: boolean
        reason: 'met' | 'rounds' | 'time' | 'cost' | 'stopped'
        checks: number
        elapsedMs: number
        costUsd?: number | undefined
        detail?: string | undefined
      }
    | undefined
  verificationStatus?: string | undefined
}

export type Approval = {
  callId: string
  toolName: string
  args?: unknown | undefined
  reasons: string[]
  rules: string[]
  notes?: string[] | undefined
  diff?: string | undefined
  digest: string
  remainingMs?: number | undefined
  fromBefore?: boolean | undefined
}

export type Decision = { callId: string; decision: string; runId?: string | undefined }

export type Question = {
  questionId: string
  questions: Record<string, unknown>[]
  askedAtMs?: number | undefined
  agent?: string | undefined
  fromBefore?: boolean | undefined
}

export type Message = {
  id: string
  role: string
  text: string
  createdAtMs?: number | undefined
  runId?: string | undefined
}

export type HistoryMessage = { role: string; [more: string]: unknown }

export type FileChange = {
  path: string
  kind: string
  added?: number | undefined
  removed?: number | undefined
  diff?: string | undefined
  undone?: boolean | undefined
  whyNot?: string | undefined
}

export type UndoOutcome = {
  undoId: string
  runId: string
  restored: string[]
  refused: Record<string, unknown>[]
}

export type Tool = {
  name: string
  description: string
  kind?: string | undefined
  title?: string | undefined
  parameters?: Record<string, unknown> | undefined
}

export type ToolResult = {
  name: string
  output: string
  exitCode: number
  metadata?: Record<string, unknown> | undefined
}

export type Explanation = {
  action: 'allow' | 'ask' | 'deny'
  text: string
  judged: Record<string, unknown>
  watchdog: Record<string, unknown>
}

export type Trace = Record<string, unknown>

export type Usage = {
  usage: Record<string, unknown>
  costUsd?: number | undefined
  models?: Record<string, unknown>[] | undefined
}

export type ContextUsage = {
  model: string
  windowTokens: number
  windowAssumed: boolean
  usedTokens: number
  counted?: boolean | undefined
  parts: { name: string; tokens: number; count: number; largest?: Record<string, unknown>[] | undefined }[]
  compaction: { auto: boolean; atTokens: number }
}

export type Todo = { content?: string | undefined; status?: string | undefined }

export type McpServer = {
  name: string
  state: 'idle' | 'connecting' | 'connected' | 'down' | 'disabled'
  connected: boolean
  toolCount: number
  confined: boolean
  sandbox?: string | undefined
  error?: string | undefined
  failure?: Record<string, unknown> | undefined
  problems?: string[] | undefined
  needsSignIn?: boolean | undefined
}

export type Schedule = {
  name: string
  sessionId: string
  cron?: string | undefined
  timeZone: string
  triggers: ('webhook' | 'file' | 'wake_up')[]
  running: boolean
  nextFireAtMs?: number | undefined
  last?: Fire | undefined
  recent: Fire[]
}

export type Fire = {
  firedAtMs: number
  startedAtMs: number
  endedAtMs?: number | undefined
  status: 'queued' | 'running' | 'completed' | 'failed' | 'cancelled' | 'interrupted' | 'skipped'
  source: 'schedule' | 'api' | 'webhook' | 'file' | 'wake_up'
  runId?: string | undefined
  reason?: 'overlap' | 'missed' | 'elsewhere' | 'stopped' | undefined
  text?: string | undefined
  error?: string | undefined
}

export type ClusterStatus = {
  nodes: {
    id: string
    name: string
    host: string
    pid?: number | undefined
    version?: string | undefined
    slots: number
    lanes: string[]
    startedAtMs: number
    seenAtMs: number
    active: number
    isDraining: boolean
  }[]
  lanes: { lane: string; queued: number; active: number; oldestWaitMs: number }[]
  waiting: number
  dead: number
  ended: { completed: number; failed: number; cancelled: number }
  takeovers: number
}

export type DeadRun = {
  runId: string
  sessionId: string
  prompt: string
  lane: string
  tenantId?: string | undefined
  submittedAtMs: number
  updatedAtMs: number
  attempt: number
  error?: { code: string; message: string } | undefined
}

export type LaneQueue = {
  lanes: { lane: string; pending: number; active: number; mode: string }[]
  tasks: { taskId: string; lane: string; toolName: string; attempt: number }[]
  deadLetters: {
    commandId: string
    toolName: string
    lane: string
    args?: unknown | undefined
    error: string
    attempts: number
    failedAtMs: number
    mayHaveRun: boolean
    canRetry: boolean
    retryProblem?: 'host_tool_disabled' | 'dead_letter_from_log' | 'dead_letter_without_arguments' | undefined
  }[]
  counters?: Record<string, unknown> | undefined
}

export type SideAnswer = {
  question: string
  answer: string
  totalTokens?: number | undefined
  costUsd?: number | undefined
}

export type GeneratedObject = { object: unknown; [more: string]: unknown }

export type Report = Record<string, unknown>

type InSession = { sessionId: string }
type InRun = { sessionId: string; runId: string }
type Headers = { headers?: Record<string, string> | undefined }
type Operation<Input, Output> = { input: Input & Headers; output: Output }

/** The input and the output of each operation. */
export type Operations = {
  getHealth: Operation<unknown, { status: string }>
  getReadiness: Operation<unknown, { status: string }>
  getMetrics: Operation<unknown, string>
  watchAll: Operation<{ query?: { from?: string | undefined } | undefined }, string>
  getOpenApi: Operation<unknown, Record<string, unknown>>
  createSession: Operation<
    {
      body?:
        | {
            workspace?: string | undefined
            title?: string | undefined
            options?: Record<string, unknown> | undefined
          }
        | undefined
    },
    Session
  >
  listSessions: Operation<
    {
      query?:
        | {
            limit?: number | undefined
            cursor?: string | undefined
            workspace?: string | undefined
            title?: string | undefined
            summary?: boolean | undefined
          }
        | undefined
    },
    { sessions: SessionInfo[]; nextCursor?: string | undefined }
  >
  importSession: Operation<{ body: { lines: string[]; workspace?: string | undefined } }, Session>
  getSession: Operation<{ params: InSession }, Session>
  updateSession: Operation<
    {
      params: InSession
      body?:
        | {
            title?: string | undefined
            mode?: 'plan' | 'read-only' | 'accept-edits' | 'full' | null | undefined
            model?: string | undefined
          }
        | undefined
    },
    Session
  >
  deleteSession: Operation<{ params: InSession }, undefined>
  closeSession: Operation<{ params: InSession }, undefined>
  forkSession: Operation<
    {
      params: InSession
      body?:
        | {
            fromMessageId?: string | undefined
            beforeMessageId?: string | undefined
            title?: string | undefined
          }
        | undefined
    },
    Session
  >
  exportSession: Operation<{ params: InSession }, string>
  startRun: Operation<
    {
      params: InSession
      body: {
        prompt: string
        attachments?: { data: string; mediaType: string; name?: string | undefined }[] | undefined
        metadata?: Record<string, unknown> | undefined
      }
    },
    StartedRun
  >
  listRuns: Operation<{ params: InSession }, { runs: Run[] }>
  sendMessage: Operation<
    {
      params: InSession
      body: {
        text: string
        attachments?: { data: string; mediaType: string; name?: string | undefined }[] | undefined
        metadata?: Record<string, unknown> | undefined
      }
    },
    StartedRun
  >
  listMessages: Operation<{ params: InSession }, { messages: Message[] }>
  getRun: Operation<{ params: InRun }, Run>
  watchRun: Operation<
    {
      params: InRun
      query?:
        | {
            from?: number | undefined
            timed?: boolean | undefined
            resume?: boolean | undefined
            maxText?: number | undefined
          }
        | undefined
    },
    string | undefined
  >
  cancelRun: Operation<{ params: InRun }, Run>
  steerRun: Operation<{ params: InRun; body: { text: string } }, StartedRun>
  resumeRun: Operation<{ params: InRun }, StartedRun>
  listApprovals: Operation<{ params: InSession }, { approvals: Approval[] }>
  answerApproval: Operation<
    {
      params: { sessionId: string; callId: string }
      body: { decision: 'once' | 'session' | 'always' | 'reject'; message?: string | undefined }
    },
    Decision
  >
  listQuestions: Operation<{ params: InSession }, { questions: Question[] }>
  answerQuestion: Operation<
    { params: { sessionId: string; questionId: string }; body: { answers: string[][] } },
    { questionId: string; runId?: string | undefined }
  >
  getHistory: Operation<{ params: InSession }, { history: HistoryMessage[] }>
  rewindSession: Operation<
    { params: InSession; body: { messageId: string } },
    { prompt: string; hidden: number }
  >
  unrewindSession: Operation<{ params: InSession }, { shown: number }>
  listChanges: Operation<
    { params: InSession; query?: { runId?: string | undefined; diff?: boolean | undefined } | undefined },
    { changes: FileChange[] }
  >
  undoChanges: Operation<
    { params: InSession; body?: { runId?: string | undefined } | undefined },
    UndoOutcome
  >
  listTools: Operation<{ params: InSession }, { tools: Tool[] }>
  callTool: Operation<
    {
      params: { sessionId: string; toolName: string }
      body?: { args?: Record<string, unknown> | undefined } | undefined
    },
    ToolResult
  >
  explainCall: Operation<
    {
      params: InSession
      body: {
        toolName: string
        args?: Record<string, unknown> | undefined
        suppose?:
          | {
              add?:
                | {
                    rule: string
                    action: 'allow' | 'ask' | 'deny'
                    source?: 'manifest' | 'project' | 'session' | undefined
                  }[]
                | undefined
              remove?: { rule: string; source: 'manifest' | 'project' | 'session' }[] | undefined
            }
          | undefined
      }
    },
    Explanation
  >
  listTraces: Operation<{ params: InSession }, { traces: Trace[] }>
  getUsage: Operation<{ params: InSession }, Usage>
  getContext: Operation<{ params: InSession }, ContextUsage>
  listTodos: Operation<{ params: InSession }, { todos: Todo[] }>
  getMcpStatus: Operation<{ params: InSession }, { servers: McpServer[] }>
  askSideQuestion: Operation<{ params: InSession; body: { question: string } }, SideAnswer>
  generateObject: Operation<
    { params: InSession; body: { prompt: string; schema: Record<string, unknown> } },
    GeneratedObject
  >
  verifySession: Operation<
    { params: InSession; body?: { subject?: string | undefined; checks?: string[] | undefined } | undefined },
    Report
  >
  listSchedules: Operation<unknown, { schedules: Schedule[] }>
  getCluster: Operation<unknown, { status?: ClusterStatus | undefined; dead: DeadRun[] }>
  getQueue: Operation<{ params: InSession }, LaneQueue>
  retryDeadLetter: Operation<
    {
      params: { sessionId: string; commandId: string }
      body?: { evenIfItMayHaveRun?: boolean | undefined } | undefined
    },
    ToolResult
  >
  chat: Operation<
    {
      body: {
        id: string
        messages: Record<string, unknown>[]
        trigger?: string | undefined
        messageId?: string | null | undefined
        [more: string]: unknown
      }
    },
    string
  >
  resumeChat: Operation<{ params: { id: string } }, string | undefined>
  agUi: Operation<
    {
      body: {
        threadId: string
        runId: string
        messages: Record<string, unknown>[]
        resume?: Record<string, unknown>[] | undefined
        [more: string]: unknown
      }
    },
    string
  >
  listRunEvents: Operation<
    {
      params: InRun
      query?:
        | { from?: number | undefined; limit?: number | undefined; maxText?: number | undefined }
        | undefined
    },
    {
      events: { sequence: number; timestampMs: number; event: EventData; cutChars?: number | undefined }[]
      isLast: boolean
    }
  >
  getCallOutput: Operation<
    {
      params: { sessionId: string; runId: string; callId: string }
      query?: { from?: number | undefined; limit?: number | undefined } | undefined
    },
    { text: string; from: number; total: number; isCut: boolean }
  >
  listImages: Operation<
    { params: InSession },
    {
      images: {
        imageId: string
        mediaType: string
        bytes: number
        runId?: string | undefined
        callId?: string | undefined
      }[]
    }
  >
  getImage: Operation<{ params: { sessionId: string; imageId: string } }, string>
  getInspector: Operation<
    unknown,
    { principal: string; readsOnly?: string | undefined; workspaces: string[] }
  >
  createInspectorCode: Operation<unknown, { code: string; path: string; expiresAtMs: number }>
  signIn: Operation<
    { body: { code: string } },
    { csrf: string; principal: string; readsOnly?: string | undefined }
  >
  signOut: Operation<unknown, undefined>
  listLinks: Operation<{ params: InSession }, { links: { linkId: string; expiresAtMs: number }[] }>
  createLink: Operation<
    { params: InSession; body: { minutes: number } },
    { linkId: string; path: string; expiresAtMs: number }
  >
  revokeLink: Operation<{ params: { sessionId: string; linkId: string } }, undefined>
}
