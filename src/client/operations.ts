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

/** What each operation takes and gives. */
export type Operations = {
  getHealth: { input: { headers?: Record<string, string> | undefined }; output: { status: string } }
  getReadiness: { input: { headers?: Record<string, string> | undefined }; output: { status: string } }
  getMetrics: { input: { headers?: Record<string, string> | undefined }; output: string }
  watchAll: {
    input: { query?: { from?: string | undefined } | undefined; headers?: Record<string, string> | undefined }
    output: string
  }
  getOpenApi: { input: { headers?: Record<string, string> | undefined }; output: Record<string, unknown> }
  createSession: {
    input: {
      headers?: Record<string, string> | undefined
      body?:
        | {
            workspace?: string | undefined
            title?: string | undefined
            options?: Record<string, unknown> | undefined
          }
        | undefined
    }
    output: Session
  }
  listSessions: {
    input: {
      query?:
        | {
            limit?: number | undefined
            cursor?: string | undefined
            workspace?: string | undefined
            title?: string | undefined
            summary?: boolean | undefined
          }
        | undefined
      headers?: Record<string, string> | undefined
    }
    output: { sessions: SessionInfo[]; nextCursor?: string | undefined }
  }
  importSession: {
    input: {
      headers?: Record<string, string> | undefined
      body: { lines: string[]; workspace?: string | undefined }
    }
    output: Session
  }
  getSession: {
    input: { params: { sessionId: string }; headers?: Record<string, string> | undefined }
    output: Session
  }
  updateSession: {
    input: {
      params: { sessionId: string }
      headers?: Record<string, string> | undefined
      body?:
        | {
            title?: string | undefined
            mode?: 'plan' | 'read-only' | 'accept-edits' | 'full' | null | undefined
            model?: string | undefined
          }
        | undefined
    }
    output: Session
  }
  deleteSession: {
    input: { params: { sessionId: string }; headers?: Record<string, string> | undefined }
    output: undefined
  }
  closeSession: {
    input: { params: { sessionId: string }; headers?: Record<string, string> | undefined }
    output: undefined
  }
  forkSession: {
    input: {
      params: { sessionId: string }
      headers?: Record<string, string> | undefined
      body?:
        | {
            fromMessageId?: string | undefined
            beforeMessageId?: string | undefined
            title?: string | undefined
          }
        | undefined
    }
    output: Session
  }
  exportSession: {
    input: { params: { sessionId: string }; headers?: Record<string, string> | undefined }
    output: string
  }
  startRun: {
    input: {
      params: { sessionId: string }
      headers?: Record<string, string> | undefined
      body: {
        prompt: string
        attachments?: { data: string; mediaType: string; name?: string | undefined }[] | undefined
        metadata?: Record<string, unknown> | undefined
      }
    }
    output: StartedRun
  }
  listRuns: {
    input: { params: { sessionId: string }; headers?: Record<string, string> | undefined }
    output: { runs: Run[] }
  }
  sendMessage: {
    input: {
      params: { sessionId: string }
      headers?: Record<string, string> | undefined
      body: {
        text: string
        attachments?: { data: string; mediaType: string; name?: string | undefined }[] | undefined
        metadata?: Record<string, unknown> | undefined
      }
    }
    output: StartedRun
  }
  listMessages: {
    input: { params: { sessionId: string }; headers?: Record<string, string> | undefined }
    output: { messages: Message[] }
  }
  getRun: {
    input: { params: { sessionId: string; runId: string }; headers?: Record<string, string> | undefined }
    output: Run
  }
  watchRun: {
    input: {
      params: { sessionId: string; runId: string }
      query?:
        | {
            from?: number | undefined
            timed?: boolean | undefined
            resume?: boolean | undefined
            maxText?: number | undefined
          }
        | undefined
      headers?: Record<string, string> | undefined
    }
    output: string | undefined
  }
  cancelRun: {
    input: { params: { sessionId: string; runId: string }; headers?: Record<string, string> | undefined }
    output: Run
  }
  steerRun: {
    input: {
      params: { sessionId: string; runId: string }
      headers?: Record<string, string> | undefined
      body: { text: string }
    }
    output: StartedRun
  }
  resumeRun: {
    input: { params: { sessionId: string; runId: string }; headers?: Record<string, string> | undefined }
    output: StartedRun
  }
  listApprovals: {
    input: { params: { sessionId: string }; headers?: Record<string, string> | undefined }
    output: { approvals: Approval[] }
  }
  answerApproval: {
    input: {
      params: { sessionId: string; callId: string }
      headers?: Record<string, string> | undefined
      body: { decision: 'once' | 'session' | 'always' | 'reject'; message?: string | undefined }
    }
    output: Decision
  }
  listQuestions: {
    input: { params: { sessionId: string }; headers?: Record<string, string> | undefined }
    output: { questions: Question[] }
  }
  answerQuestion: {
    input: {
      params: { sessionId: string; questionId: string }
      headers?: Record<string, string> | undefined
      body: { answers: string[][] }
    }
    output: { questionId: string; runId?: string | undefined }
  }
  getHistory: {
    input: { params: { sessionId: string }; headers?: Record<string, string> | undefined }
    output: { history: HistoryMessage[] }
  }
  rewindSession: {
    input: {
      params: { sessionId: string }
      headers?: Record<string, string> | undefined
      body: { messageId: string }
    }
    output: { prompt: string; hidden: number }
  }
  unrewindSession: {
    input: { params: { sessionId: string }; headers?: Record<string, string> | undefined }
    output: { shown: number }
  }
  listChanges: {
    input: {
      params: { sessionId: string }
      query?: { runId?: string | undefined; diff?: boolean | undefined } | undefined
      headers?: Record<string, string> | undefined
    }
    output: { changes: FileChange[] }
  }
  undoChanges: {
    input: {
      params: { sessionId: string }
      headers?: Record<string, string> | undefined
      body?: { runId?: string | undefined } | undefined
    }
    output: UndoOutcome
  }
  listTools: {
    input: { params: { sessionId: string }; headers?: Record<string, string> | undefined }
    output: { tools: Tool[] }
  }
  callTool: {
    input: {
      params: { sessionId: string; toolName: string }
      headers?: Record<string, string> | undefined
      body?: { args?: Record<string, unknown> | undefined } | undefined
    }
    output: ToolResult
  }
  explainCall: {
    input: {
      params: { sessionId: string }
      headers?: Record<string, string> | undefined
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
    }
    output: Explanation
  }
  listTraces: {
    input: { params: { sessionId: string }; headers?: Record<string, string> | undefined }
    output: { traces: Trace[] }
  }
  getUsage: {
    input: { params: { sessionId: string }; headers?: Record<string, string> | undefined }
    output: Usage
  }
  getContext: {
    input: { params: { sessionId: string }; headers?: Record<string, string> | undefined }
    output: ContextUsage
  }
  listTodos: {
    input: { params: { sessionId: string }; headers?: Record<string, string> | undefined }
    output: { todos: Todo[] }
  }
  getMcpStatus: {
    input: { params: { sessionId: string }; headers?: Record<string, string> | undefined }
    output: { servers: McpServer[] }
  }
  askSideQuestion: {
    input: {
      params: { sessionId: string }
      headers?: Record<string, string> | undefined
      body: { question: string }
    }
    output: SideAnswer
  }
  generateObject: {
    input: {
      params: { sessionId: string }
      headers?: Record<string, string> | undefined
      body: { prompt: string; schema: Record<string, unknown> }
    }
    output: GeneratedObject
  }
  verifySession: {
    input: {
      params: { sessionId: string }
      headers?: Record<string, string> | undefined
      body?: { subject?: string | undefined; checks?: string[] | undefined } | undefined
    }
    output: Report
  }
  listSchedules: {
    input: { headers?: Record<string, string> | undefined }
    output: { schedules: Schedule[] }
  }
  getCluster: {
    input: { headers?: Record<string, string> | undefined }
    output: { status?: ClusterStatus | undefined; dead: DeadRun[] }
  }
  getQueue: {
    input: { params: { sessionId: string }; headers?: Record<string, string> | undefined }
    output: LaneQueue
  }
  retryDeadLetter: {
    input: {
      params: { sessionId: string; commandId: string }
      headers?: Record<string, string> | undefined
      body?: { evenIfItMayHaveRun?: boolean | undefined } | undefined
    }
    output: ToolResult
  }
  chat: {
    input: {
      headers?: Record<string, string> | undefined
      body: {
        id: string
        messages: Record<string, unknown>[]
        trigger?: string | undefined
        messageId?: string | null | undefined
        [more: string]: unknown
      }
    }
    output: string
  }
  resumeChat: {
    input: { params: { id: string }; headers?: Record<string, string> | undefined }
    output: string | undefined
  }
  agUi: {
    input: {
      headers?: Record<string, string> | undefined
      body: {
        threadId: string
        runId: string
        messages: Record<string, unknown>[]
        resume?: Record<string, unknown>[] | undefined
        [more: string]: unknown
      }
    }
    output: string
  }
  listRunEvents: {
    input: {
      params: { sessionId: string; runId: string }
      query?:
        | { from?: number | undefined; limit?: number | undefined; maxText?: number | undefined }
        | undefined
      headers?: Record<string, string> | undefined
    }
    output: {
      events: { sequence: number; timestampMs: number; event: EventData; cutChars?: number | undefined }[]
      isLast: boolean
    }
  }
  getCallOutput: {
    input: {
      params: { sessionId: string; runId: string; callId: string }
      query?: { from?: number | undefined; limit?: number | undefined } | undefined
      headers?: Record<string, string> | undefined
    }
    output: { text: string; from: number; total: number; isCut: boolean }
  }
  listImages: {
    input: { params: { sessionId: string }; headers?: Record<string, string> | undefined }
    output: {
      images: {
        imageId: string
        mediaType: string
        bytes: number
        runId?: string | undefined
        callId?: string | undefined
      }[]
    }
  }
  getImage: {
    input: { params: { sessionId: string; imageId: string }; headers?: Record<string, string> | undefined }
    output: string
  }
  getInspector: {
    input: { headers?: Record<string, string> | undefined }
    output: { principal: string; readsOnly?: string | undefined; workspaces: string[] }
  }
  createInspectorCode: {
    input: { headers?: Record<string, string> | undefined }
    output: { code: string; path: string; expiresAtMs: number }
  }
  signIn: {
    input: { headers?: Record<string, string> | undefined; body: { code: string } }
    output: { csrf: string; principal: string; readsOnly?: string | undefined }
  }
  signOut: { input: { headers?: Record<string, string> | undefined }; output: undefined }
  listLinks: {
    input: { params: { sessionId: string }; headers?: Record<string, string> | undefined }
    output: { links: { linkId: string; expiresAtMs: number }[] }
  }
  createLink: {
    input: {
      params: { sessionId: string }
      headers?: Record<string, string> | undefined
      body: { minutes: number }
    }
    output: { linkId: string; path: string; expiresAtMs: number }
  }
  revokeLink: {
    input: { params: { sessionId: string; linkId: string }; headers?: Record<string, string> | undefined }
    output: undefined
  }
}
