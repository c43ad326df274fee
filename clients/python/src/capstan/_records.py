"""Results: the JSON that Capstan sends, with snake_case attributes."""

from __future__ import annotations

from typing import Any, Dict, FrozenSet, Iterator, List, Optional, Type, TypeVar

from ._names import camel, snake

# JSON that belongs to the user or to a tool: given as it is.
_PLAIN = frozenset(["args", "metadata", "envelope", "data", "structured", "object", "input", "plan", "parameters"])


class Record:
    """A JSON object with its fields as attributes. ``raw`` is the object itself.

    ``record.tool_name``, ``record["tool_name"]`` and ``record.raw["toolName"]`` are the same value.
    """

    __slots__ = ("raw",)
    raw: Dict[str, Any]

    def __init__(self, raw: Dict[str, Any]) -> None:
        self.raw = raw

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        key = self._key(name)
        if key is not None:
            return self.raw[key] if key in _PLAIN else wrap(self.raw[key])
        if name in _declared(type(self)):
            return None
        raise AttributeError(f"{type(self).__name__} has no {name!r}; it has {', '.join(self.keys())}.")

    def __getitem__(self, name: str) -> Any:
        key = self._key(name)
        if key is None:
            raise KeyError(name)
        return self.raw[key] if key in _PLAIN else wrap(self.raw[key])

    def _key(self, name: str) -> Optional[str]:
        return next((key for key in (name, camel(name)) if key in self.raw), None)

    def __contains__(self, name: str) -> bool:
        return self._key(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def keys(self) -> List[str]:
        """The names of the fields that are present, in snake_case."""
        return [snake(key) for key in self.raw]

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and self.raw == other.raw

    __hash__ = None  # type: ignore[assignment]

    def __dir__(self) -> List[str]:
        return [*super().__dir__(), *self.keys()]

    def __repr__(self) -> str:
        fields = ", ".join(f"{snake(key)}={value!r}" for key, value in self.raw.items())
        return f"{type(self).__name__}({fields})"


def wrap(value: Any) -> Any:
    """Return JSON data with its objects as records."""
    if isinstance(value, dict):
        return Record(value)
    if isinstance(value, list):
        return [wrap(item) for item in value]
    return value


R = TypeVar("R", bound=Record)


def records(kind: Type[R], values: Any) -> List[R]:
    return [kind(value) for value in values or []]


_known: Dict[type, FrozenSet[str]] = {}


def _declared(kind: type) -> FrozenSet[str]:
    """The fields that a class declares: they are None when they are absent."""
    known = _known.get(kind)
    if known is None:
        known = frozenset(name for base in kind.__mro__ for name in base.__dict__.get("__annotations__", {}))
        _known[kind] = known
    return known


class AgentResult(Record):
    """The result of a run."""

    __slots__ = ()
    text: str
    run_id: str
    finish: str
    rounds: int
    tool_calls_count: int
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    cost_usd: Optional[float]
    fallback_model: Optional[str]
    goal: Optional[Record]
    usage: Record
    verification_status: str
    pending_verification_count: int
    failed_verification_count: int
    verification_report_count: int
    verification_summary: Record
    verification_summary_json: str
    verification_summary_text: str


class ToolResult(Record):
    """The result of a direct call of a tool. ``exit_code`` is 0 on success."""

    __slots__ = ()
    name: str
    output: str
    exit_code: int
    metadata: Dict[str, Any]
    metadata_json: str
    envelope: Dict[str, Any]


class RunSnapshot(Record):
    """A run at one moment."""

    __slots__ = ()
    id: str
    session_id: str
    status: str
    prompt: str
    created_at_ms: int
    updated_at_ms: int
    event_count: int
    result_text: Optional[str]
    error: Optional[str]
    resumed_from: Optional[str]
    usage: Optional[Record]
    cost_usd: Optional[float]


class HistoryMessage(Record):
    """A message of the conversation. ``content`` is a list of blocks."""

    __slots__ = ()
    role: str
    content: List[Record]


class SideAnswer(Record):
    """The answer to a side question."""

    __slots__ = ()
    question: str
    answer: str
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class ToolInfo(Record):
    """A tool as the model sees it."""

    __slots__ = ()
    name: str
    description: str
    parameters: Dict[str, Any]
    kind: str
    title: Optional[str]


class ObjectResult(Record):
    """Structured output of the model."""

    __slots__ = ()
    object: Any
    usage: Record


class RunEvent(Record):
    """An event with its sequence number."""

    __slots__ = ()
    sequence: int
    timestamp_ms: int

    @property
    def event(self) -> "Event":
        return Event(self.raw["event"])


class Event(Record):
    """An event of a run. Branch on ``type``; a field that this type does not have is None."""

    __slots__ = ()
    type: str
    text: Optional[str]

    @property
    def result(self) -> Optional[AgentResult]:
        """The result of the run, on ``agent_end``."""
        value = self.raw.get("result")
        return AgentResult(value) if isinstance(value, dict) else value

    def __getattr__(self, name: str) -> Any:
        from .types import EVENT_FIELDS

        key = self._key(name)
        if key is None and (name in EVENT_FIELDS or name in _declared(type(self))):
            return None
        return super().__getattr__(name)


class ApprovalRequest(Record):
    """A call of a tool that waits for an approval."""

    __slots__ = ()
    id: str
    tool_name: str
    args: Any
    reasons: List[str]
    notes: List[str]
    diff: Optional[str]
    suggestion: Optional[List[Record]]


class Question(Record):
    """A question of the model to the user."""

    __slots__ = ()
    question: str
    header: Optional[str]
    options: Optional[List[Record]]
    multi_select: Optional[bool]
