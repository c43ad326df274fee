"""The options of a session, with the names of the SDK in snake_case."""

from __future__ import annotations

import difflib
from typing import Any, Callable, Dict, List, Mapping, Optional, Protocol, Sequence, Union

from ._names import camel, plain, to_wire
from ._stores import (
    DefaultSecurityProvider,
    Described,
    FileMemoryStore,
    FileSessionStore,
    HttpTransport,
    LocalWorkspaceBackend,
    MemorySessionStore,
    SqliteSessionStore,
    StdioTransport,
    UnixSocketTransport,
    WebSocketTransport,
)

Json = Dict[str, Any]
Decision = Optional[Mapping[str, Any]]
SessionStore = Union[FileSessionStore, SqliteSessionStore, MemorySessionStore]


class BudgetGuard(Protocol):
    """Decides what a session may spend. Every method can be left out, and can be ``async``.

    ``None`` and ``{"decision": "allow"}`` allow, ``soft`` warns, ``deny`` refuses. A guard that fails allows, unless it
    has ``on_error = "deny"``.
    """

    def check_before_llm(self, session_id: str, estimated_tokens: int) -> Decision: ...

    def record_after_llm(self, session_id: str, usage: Mapping[str, Any]) -> None: ...

    def check_before_tool(self, session_id: str, tool_name: str) -> Decision: ...


class SessionOptions:
    """Options of a session. Every field is optional; see docs/sessions.md for their meaning.

    Fields can be set one by one, or given as keyword arguments. A name that is not known raises AttributeError.
    """

    session_id: Optional[str] = None
    title: Optional[str] = None
    model: Optional[str] = None
    fallback_models: Optional[Sequence[str]] = None
    retry: Optional[Json] = None
    temperature: Optional[float] = None
    max_tokens: Optional[int] = None
    thinking_budget: Optional[int] = None
    reasoning_effort: Optional[str] = None
    role: Optional[str] = None
    guidelines: Optional[str] = None
    response_style: Optional[str] = None
    extra: Optional[str] = None
    instruction_files: Union[Sequence[str], bool, None] = None
    planning_mode: Optional[str] = None
    planning: Optional[bool] = None
    goal_tracking: Optional[bool] = None
    permission_policy: Optional[Json] = None
    stale_write_check: Optional[bool] = None
    require_read_before_write: Optional[bool] = None
    confirmation_policy: Optional[Json] = None
    on_ask: Optional[Callable[[Any], Any]] = None
    on_question: Optional[Callable[[Any], Any]] = None
    ceiling: Optional[Json] = None
    manifest: Optional[Json] = None
    ad_hoc_files: Optional[Sequence[str]] = None
    user_data_dir: Optional[str] = None
    metadata: Optional[Json] = None
    mode: Optional[str] = None
    security_provider: Optional[DefaultSecurityProvider] = None
    memory_store: Optional[FileMemoryStore] = None
    memory: Optional[Json] = None
    sandbox: Optional[str] = None
    command_limits: Optional[Json] = None
    network: Optional[Json] = None
    env: Optional[Mapping[str, str]] = None
    workspace_backend: Optional[LocalWorkspaceBackend] = None
    roots: Optional[Sequence[str]] = None
    tools: Optional[Sequence[Any]] = None
    extension_tools: Union[Sequence[str], bool, None] = None
    builtin_tools: Union[Sequence[str], bool, None] = None
    skill_dirs: Optional[Sequence[str]] = None
    inline_skills: Optional[Sequence[Json]] = None
    builtin_skills: Optional[bool] = None
    discover_skills: Optional[bool] = None
    agent_dirs: Optional[Sequence[str]] = None
    worker_agents: Optional[Sequence[Json]] = None
    discover_agents: Optional[bool] = None
    queue_config: Optional[Json] = None
    delegation: Optional[Json] = None
    auto_delegation: Optional[Json] = None
    auto_parallel: Optional[bool] = None
    web_search: Optional[Json] = None
    mcp_servers: Union[Mapping[str, Json], Sequence[Json], None] = None
    tool_search: Optional[str] = None
    hooks: Optional[Sequence[Json]] = None
    ahp_transport: Union[HttpTransport, WebSocketTransport, StdioTransport, UnixSocketTransport, None] = None
    commands: Optional[Sequence[Json]] = None
    budget_guard: Optional[Any] = None
    goal: Optional[Json] = None
    verify: Optional[Json] = None
    auto_compact: Optional[bool] = None
    auto_compact_threshold: Optional[float] = None
    when_busy: Optional[str] = None
    retention_limits: Optional[Json] = None
    session_store: Optional[SessionStore] = None
    auto_save: Optional[bool] = None
    trust_store: Optional[bool] = None
    durability: Optional[str] = None
    host_env: Optional[Json] = None
    tenant_id: Optional[str] = None
    principal: Optional[str] = None
    agent_template_id: Optional[str] = None
    correlation_id: Optional[str] = None
    max_tool_rounds: Optional[int] = None
    max_parallel_tasks: Optional[int] = None
    max_execution_time_ms: Optional[int] = None
    round_timeout_ms: Optional[int] = None
    model_idle_timeout_ms: Optional[int] = None
    llm_api_timeout_ms: Optional[int] = None
    max_answer_chars: Optional[int] = None
    max_argument_chars: Optional[int] = None
    max_calls_per_answer: Optional[int] = None
    max_response_bytes: Optional[int] = None
    tool_timeout_ms: Optional[int] = None
    circuit_breaker_threshold: Optional[int] = None
    max_parse_retries: Optional[int] = None
    duplicate_tool_call_threshold: Optional[int] = None
    continuation_enabled: Optional[bool] = None
    max_continuation_turns: Optional[int] = None

    def __init__(self, **fields: Any) -> None:
        for name, value in fields.items():
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        known = SessionOptions.__annotations__
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise AttributeError(f"SessionOptions has no option {name!r}.{hint}")
        object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"SessionOptions({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"

    def copy(self, **fields: Any) -> "SessionOptions":
        """Return these options with some fields replaced."""
        return SessionOptions(**{**vars(self), **fields})

    def given(self) -> Dict[str, Any]:
        """The fields that are set."""
        return {name: value for name, value in vars(self).items() if value is not None}


# Code of the user: the session of this process calls it.
CALLBACKS = frozenset(["on_ask", "on_question", "budget_guard", "tools", "hooks", "commands"])
GUARD_METHODS = {
    "check_before_llm": "checkBeforeLlm",
    "record_after_llm": "recordAfterLlm",
    "check_before_tool": "checkBeforeTool",
}


def data_options(options: SessionOptions) -> Json:
    """The options that are data, for the wire."""
    return {camel(name): _value(name, value) for name, value in options.given().items() if name not in CALLBACKS}


def _value(name: str, value: Any) -> Any:
    if isinstance(value, Described):
        return {key: item for key, item in value.wire().items() if item is not None}
    if name in ("metadata", "env", "ceiling"):
        return plain(value)
    if name == "mcp_servers" and isinstance(value, Mapping):
        # The keys are names of servers.
        return {str(server): to_wire(config) for server, config in value.items()}
    return to_wire(value)


def guard_wire(guard: Any) -> Json:
    """Which methods a budget guard has, and its settings."""
    methods = [wire for name, wire in GUARD_METHODS.items() if callable(getattr(guard, name, None))]
    settings = {"timeoutMs": getattr(guard, "timeout_ms", None), "onError": getattr(guard, "on_error", None)}
    return {"methods": methods, **{key: value for key, value in settings.items() if value is not None}}


def ask_answer(answer: Any) -> Json:
    """The answer of ``on_ask`` for the wire. Only ``True`` and the known decisions approve a call."""
    if answer is True:
        return {"decision": "once"}
    if isinstance(answer, str) and answer in ("once", "session", "always"):
        return {"decision": answer}
    if isinstance(answer, Mapping):
        return plain(answer)
    return {"decision": "reject", **({"message": answer} if isinstance(answer, str) and answer != "reject" else {})}


def question_answers(answer: Any, count: int) -> Json:
    """The answers of ``on_question`` for the wire: one list of texts for each question."""
    if isinstance(answer, Mapping):
        return plain(answer)
    if isinstance(answer, str):
        answer = [answer]
    lists: List[List[str]] = [[item] if isinstance(item, str) else [str(each) for each in item] for item in answer or []]
    return {"answers": [*lists, *([[]] * (count - len(lists)))]}


