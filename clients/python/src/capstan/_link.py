"""What the classes need of a Capstan process or server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict

if TYPE_CHECKING:
    from .aio import Session


class Link:
    """A way to an agent: a process on this machine, or a server."""

    is_remote = False

    async def request(self, method: str, params: Dict[str, Any]) -> Any:
        """Call a method and return its value."""
        raise NotImplementedError

    def notify(self, method: str, params: Dict[str, Any]) -> None:
        """Send something that needs no answer."""
        raise NotImplementedError

    async def open(self, session: "Session", params: Dict[str, Any]) -> Dict[str, Any]:
        """Open a session and return its description."""
        raise NotImplementedError

    async def close(self) -> None:
        raise NotImplementedError
