"""Capstan for Python: agents that act on real machines, with one gate for every tool call.

>>> from capstan import Agent
>>> with Agent.create("agent.acl") as agent:
...     session = agent.session(".")
...     print(session.send("What is this project?").text)

``capstan.aio`` has the same classes for asyncio.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._errors import BudgetExhaustedError, CapstanError
from ._options import BudgetGuard, SessionOptions
from ._stores import (
    DefaultSecurityProvider,
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
from ._sync import Agent, EventStream, RunEventStream, Session
from ._version import __version__

if TYPE_CHECKING:
    from ._records import (
        AgentResult,
        ApprovalRequest,
        Event,
        HistoryMessage,
        ObjectResult,
        Question,
        Record,
        RunEvent,
        RunSnapshot,
        SideAnswer,
        ToolInfo,
        ToolResult,
    )
    from ._tools import Tool, ToolContext, tool

# Loaded on use: the process starts before they are needed.
_LATER = {
    "_tools": ["Tool", "ToolContext", "tool"],
    "_records": [
        "AgentResult",
        "ApprovalRequest",
        "Event",
        "HistoryMessage",
        "ObjectResult",
        "Question",
        "Record",
        "RunEvent",
        "RunSnapshot",
        "SideAnswer",
        "ToolInfo",
        "ToolResult",
    ],
}

__all__ = [
    "Agent",
    "AgentResult",
    "ApprovalRequest",
    "BudgetExhaustedError",
    "BudgetGuard",
    "CapstanError",
    "DefaultSecurityProvider",
    "Event",
    "EventStream",
    "FileMemoryStore",
    "FileSessionStore",
    "HistoryMessage",
    "HttpTransport",
    "LocalWorkspaceBackend",
    "MemorySessionStore",
    "ObjectResult",
    "Question",
    "Record",
    "RunEvent",
    "RunEventStream",
    "RunSnapshot",
    "Session",
    "SessionOptions",
    "SideAnswer",
    "SqliteSessionStore",
    "StdioTransport",
    "Tool",
    "ToolContext",
    "ToolInfo",
    "ToolResult",
    "UnixSocketTransport",
    "WebSocketTransport",
    "__version__",
    "tool",
]


def __getattr__(name: str) -> Any:
    import importlib

    for module, names in _LATER.items():
        if name in names:
            return getattr(importlib.import_module(f".{module}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
