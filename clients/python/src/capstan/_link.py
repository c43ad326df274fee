"""The interface between the public classes and a Capstan process or server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict

if TYPE_CHECKING:
    from .aio import Session


class Link:
    """A connection to an agent: a process on this machine, or a server."""

    is_remote = False

    async def request(self, method: str, params: Dict[str, Any]) -> Any:
        """Call a method and return its value."""
        raise NotImplementedError

    def notify(self, method: str, params: Dict[str, Any]) -> None:
        """Send a notification, which has no answer."""
        raise NotImplementedError

    async def open(self, session: "Session", params: Dict[str, Any]) -> Dict[str, Any]:
        """Open a session and return its description."""
        raise NotImplementedError

    async def close(self) -> None:
        raise NotImplementedError
