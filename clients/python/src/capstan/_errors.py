"""Errors. ``code`` is stable, for programs; the message is for people."""

from __future__ import annotations

from typing import Any, Mapping, Optional


class CapstanError(Exception):
    """An operation failed. Branch on ``code``; the message can change between versions."""

    def __init__(self, message: str, code: str = "unknown", details: Optional[Mapping[str, Any]] = None) -> None:
        super().__init__(message)
        self.code = code
        self.details: Mapping[str, Any] = details or {}


class BudgetExhaustedError(CapstanError, RuntimeError):
    """The budget guard denied a request to the model. The session stays open."""

    @property
    def resource(self) -> Optional[str]:
        return self.details.get("resource")

    @property
    def reason(self) -> Optional[str]:
        return self.details.get("reason")


def error_from(message: str, code: str, details: Optional[Mapping[str, Any]] = None) -> CapstanError:
    """Return the error for a code."""
    kind = BudgetExhaustedError if code == "budget_exhausted" else CapstanError
    return kind(message, code, details)
