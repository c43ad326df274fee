"""Names: snake_case in Python, camelCase on the wire."""

from __future__ import annotations

import os
from typing import Any

# Fields whose value belongs to the user: its keys are sent as they are.
_OPAQUE = frozenset(
    ["env", "headers", "metadata", "inputs", "parameters", "schema", "output_schema", "outputSchema", "args", "payload"]
)


def camel(name: str) -> str:
    """Return ``tool_calls_count`` as ``toolCallsCount``. Other names stay as they are."""
    if "_" not in name.strip("_"):
        return name
    head, *rest = name.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)


def snake(name: str) -> str:
    """Return ``toolCallsCount`` as ``tool_calls_count``."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def to_wire(value: Any) -> Any:
    """Return a copy of a value as JSON data with camelCase keys. Paths become strings, missing values are left out."""
    if isinstance(value, dict):
        return {
            camel(str(key)): (plain(item) if key in _OPAQUE else to_wire(item))
            for key, item in value.items()
            if item is not None
        }
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_wire(item) for item in value]
    return plain(value)


def plain(value: Any) -> Any:
    """Return a value as JSON data with its keys as they are."""
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    data = getattr(value, "raw", None)
    if data is not None:
        return plain(data)
    return value
