# Written by test/python/types.test.ts with UPDATE_PYTHON=1 from the schemas of the server. Do not edit.
"""JSON of Capstan as it is sent: what `.raw` has, and the answers of the server."""

from __future__ import annotations

from typing import Any, Dict, FrozenSet, List, Literal, TypedDict, Union

EventType = Literal[
    "agent_start",
    "agent_end",
    "agent_cancelled",
    "error",
    "agent_mode_changed",
    "turn_start",
    "turn_end",
    "text_delta",
    "reasoning_delta",
    "steered",
    "model_retry",
    "model_rate_limit_wait",
    "answer_restarted",
    "model_fallback",
    "model_circuit_opened",
    "tool_start",
    "tool_input_delta",
    "tool_execution_start",
    "tool_output_delta",
    "tool_end",
    "network_request",
    "permission_denied",
    "confirmation_required",
    "confirmation_received",
    "confirmation_timeout",
    "user_question",
    "context_compacted",
    "compaction_failed",
    "cache_miss",
    "persistence_failed",
    "planning_start",
    "planning_end",
    "task_updated",
    "step_start",
    "step_end",
    "goal_started",
    "goal_checked",
    "goal_ended",
    "goal_extracted",
    "goal_progress",
    "goal_achieved",
    "memory_stored",
    "memory_recalled",
    "memories_searched",
    "memory_cleared",
    "verification_start",
    "verification_check_start",
    "verification_check_end",
    "verification_end",
    "subagent_start",
    "subagent_progress",
    "subagent_end",
    "external_task_pending",
    "external_task_completed",
    "command_retry",
    "command_dead_lettered",
    "queue_alert",
    "budget_threshold_hit",
    "passivation_requested",
    "peer_invocation",
    "agent_tool_event",
    "notice",
    "events_missed",
]

# The fields of all events, in snake_case.
EVENT_FIELDS: FrozenSet[str] = frozenset(
    [
        "action_taken",
        "after_messages",
        "after_tokens",
        "agent",
        "agent_id",
        "agent_name",
        "alert_type",
        "approved",
        "args",
        "attempt",
        "attempts",
        "before_messages",
        "before_tokens",
        "by",
        "bytes_down",
        "bytes_up",
        "cached_tokens",
        "call_id",
        "check",
        "check_count",
        "check_id",
        "checks",
        "code",
        "command_id",
        "command_type",
        "completed_steps",
        "consumed",
        "content",
        "correlation_id",
        "cost_usd",
        "count",
        "deadline_ms",
        "decision",
        "delay_ms",
        "description",
        "detail",
        "duration_ms",
        "elapsed_ms",
        "error",
        "estimated_steps",
        "event",
        "exit_code",
        "expected_tokens",
        "failed_check_count",
        "failures",
        "finish",
        "from",
        "from_session_id",
        "from_tenant_id",
        "goal",
        "host",
        "how",
        "importance",
        "is_error",
        "kind",
        "lane",
        "level",
        "limit",
        "max_cost_usd",
        "max_rounds",
        "max_time_ms",
        "memory_id",
        "memory_type",
        "message",
        "met",
        "metadata",
        "method",
        "mode",
        "model",
        "open_ms",
        "operation",
        "output",
        "parent_session_id",
        "paths",
        "payload",
        "pending_check_count",
        "percent_before",
        "plan",
        "port",
        "progress",
        "prompt",
        "query",
        "questions",
        "reason",
        "reasons",
        "relevance",
        "required",
        "resource",
        "result",
        "result_count",
        "rule",
        "run_id",
        "scheme",
        "secret_header",
        "session_id",
        "source",
        "status",
        "step",
        "step_number",
        "subject",
        "success",
        "suggestion",
        "summary",
        "tags",
        "task_id",
        "tasks",
        "text",
        "tier",
        "timeout_ms",
        "title",
        "to",
        "tool_id",
        "tool_name",
        "tool_output",
        "total_steps",
        "turn",
        "usage",
        "verdict",
        "wait_ms",
        "whole",
    ]
)


class _ProblemAlways(TypedDict):
    type: str
    status: int
    title: str
    code: str


class Problem(_ProblemAlways, total=False):
    detail: str


class _SessionAlways(TypedDict):
    sessionId: str
    workspace: str
    title: Union[str, None]
    status: Literal["idle", "running"]


class Session(_SessionAlways, total=False):
    mode: Union[str, None]
    model: Union[str, None]
    tenantId: Union[str, None]
    principal: Union[str, None]
    warning: Union[str, None]


class _SessionInfoAlways(TypedDict):
    sessionId: str


class SessionInfo(_SessionInfoAlways, total=False):
    workspace: str
    title: Union[str, None]
    createdAtMs: float
    updatedAtMs: float
    parentId: str
    labels: Dict[str, Any]
    summary: "SessionSummary"


class _SessionSummaryAlways(TypedDict):
    status: Literal["running", "waiting", "interrupted", "failed", "cancelled", "completed", "idle"]
    isSubagent: bool
    runs: int
    messages: int
    totalTokens: int


class SessionSummary(_SessionSummaryAlways, total=False):
    agent: str
    model: str
    principal: str
    costUsd: float
    prompt: str


class _RunAlways(TypedDict):
    runId: str
    sessionId: str
    status: Literal["queued", "running", "completed", "failed", "cancelled", "interrupted"]
    prompt: str


class Run(_RunAlways, total=False):
    createdAtMs: float
    updatedAtMs: float
    eventCount: int
    resultText: str
    error: str
    resumedFrom: str
    usage: Dict[str, Any]
    costUsd: float


class _StartedRunAlways(TypedDict):
    runId: str
    sessionId: str


class StartedRun(_StartedRunAlways, total=False):
    status: str


class _EventAlways(TypedDict):
    type: str


class Event(_EventAlways, total=False):
    result: "RunResult"


class _RunResultAlways(TypedDict):
    runId: str
    text: str
    finish: str
    rounds: int
    toolCallsCount: int
    totalTokens: int
    usage: Dict[str, Any]


class RunResult(_RunResultAlways, total=False):
    promptTokens: int
    completionTokens: int
    costUsd: float
    fallbackModel: str
    circuitsOpened: List[str]
    goal: Dict[str, Any]
    verificationStatus: str


class _ApprovalAlways(TypedDict):
    callId: str
    toolName: str
    reasons: List[str]
    rules: List[str]
    digest: str


class Approval(_ApprovalAlways, total=False):
    args: Any
    notes: List[str]
    diff: str
    remainingMs: float
    fromBefore: bool


class _DecisionAlways(TypedDict):
    callId: str
    decision: str


class Decision(_DecisionAlways, total=False):
    runId: str


class _QuestionAlways(TypedDict):
    questionId: str
    questions: List[Dict[str, Any]]


class Question(_QuestionAlways, total=False):
    askedAtMs: float
    agent: str
    fromBefore: bool


class _MessageAlways(TypedDict):
    id: str
    role: str
    text: str


class Message(_MessageAlways, total=False):
    createdAtMs: float
    runId: str


class HistoryMessage(TypedDict):
    role: str


class _FileChangeAlways(TypedDict):
    path: str
    kind: str


class FileChange(_FileChangeAlways, total=False):
    added: int
    removed: int
    diff: str
    undone: bool
    whyNot: str


class UndoOutcome(TypedDict):
    undoId: str
    runId: str
    restored: List[str]
    refused: List[Dict[str, Any]]


class _ToolAlways(TypedDict):
    name: str
    description: str


class Tool(_ToolAlways, total=False):
    kind: str
    title: str
    parameters: Dict[str, Any]


class _ToolResultAlways(TypedDict):
    name: str
    output: str
    exitCode: int


class ToolResult(_ToolResultAlways, total=False):
    metadata: Dict[str, Any]


class Explanation(TypedDict):
    action: Literal["allow", "ask", "deny"]
    text: str
    judged: Dict[str, Any]
    watchdog: Dict[str, Any]


Trace = Dict[str, Any]


class _UsageAlways(TypedDict):
    usage: Dict[str, Any]


class Usage(_UsageAlways, total=False):
    costUsd: float
    models: List[Dict[str, Any]]


class _ContextUsageAlways(TypedDict):
    model: str
    windowTokens: int
    windowAssumed: bool
    usedTokens: int
    parts: List[Dict[str, Any]]
    compaction: Dict[str, Any]


class ContextUsage(_ContextUsageAlways, total=False):
    counted: bool


class Todo(TypedDict, total=False):
    content: str
    status: str


class _McpServerAlways(TypedDict):
    name: str
    state: Literal["idle", "connecting", "connected", "down", "disabled"]
    connected: bool
    toolCount: int
    confined: bool


class McpServer(_McpServerAlways, total=False):
    sandbox: str
    error: str
    failure: Dict[str, Any]
    problems: List[str]
    needsSignIn: bool


class _ScheduleAlways(TypedDict):
    name: str
    sessionId: str
    timeZone: str
    triggers: List[Literal["webhook", "file", "wake_up"]]
    running: bool
    recent: List["Fire"]


class Schedule(_ScheduleAlways, total=False):
    cron: str
    nextFireAtMs: float
    last: "Fire"


class _FireAlways(TypedDict):
    firedAtMs: float
    startedAtMs: float
    status: Literal["queued", "running", "completed", "failed", "cancelled", "interrupted", "skipped"]
    source: Literal["schedule", "api", "webhook", "file", "wake_up"]


class Fire(_FireAlways, total=False):
    endedAtMs: float
    runId: str
    reason: Literal["overlap", "missed", "elsewhere", "stopped"]
    text: str
    error: str


class ClusterStatus(TypedDict):
    nodes: List[Dict[str, Any]]
    lanes: List[Dict[str, Any]]
    waiting: int
    dead: int
    ended: Dict[str, Any]
    takeovers: int


class _DeadRunAlways(TypedDict):
    runId: str
    sessionId: str
    prompt: str
    lane: str
    submittedAtMs: float
    updatedAtMs: float
    attempt: int


class DeadRun(_DeadRunAlways, total=False):
    tenantId: str
    error: Dict[str, Any]


class _LaneQueueAlways(TypedDict):
    lanes: List[Dict[str, Any]]
    tasks: List[Dict[str, Any]]
    deadLetters: List[Dict[str, Any]]


class LaneQueue(_LaneQueueAlways, total=False):
    counters: Dict[str, Any]


class _SideAnswerAlways(TypedDict):
    question: str
    answer: str


class SideAnswer(_SideAnswerAlways, total=False):
    totalTokens: int
    costUsd: float


class GeneratedObject(TypedDict):
    object: Any


Report = Dict[str, Any]
