"""The link to a Capstan process: the Agent Client Protocol with the methods ``_capstan/…``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Awaitable, Callable, Dict, Optional

from ._link import Link
from ._rpc import Connection
from ._version import __version__

if TYPE_CHECKING:
    import subprocess

    from .aio import Session


class StdioLink(Link):
    """The pipes of a process that this program started."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._connection = Connection(process, self._called)
        self._loop = self._connection._loop
        self.handle: Optional[Callable[[str, Dict[str, Any]], Awaitable[Any]]] = None

    async def initialize(self) -> None:
        capabilities = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
        info = {"name": "capstan-python", "title": "Capstan for Python", "version": __version__}
        params = {"protocolVersion": 1, "clientCapabilities": capabilities, "clientInfo": info}
        await self._connection.request("initialize", params)

    async def request(self, method: str, params: Dict[str, Any]) -> Any:
        answer = await self._connection.request(f"_capstan/{method}", params)
        return answer["value"]

    def notify(self, method: str, params: Dict[str, Any]) -> None:
        # Called from threads of callbacks too.
        self._loop.call_soon_threadsafe(self._connection.notify, f"_capstan/{method}", params)

    async def open(self, session: "Session", params: Dict[str, Any]) -> Dict[str, Any]:
        return await self.request("session/open", params)

    async def close(self) -> None:
        await self._connection.close()

    async def _called(self, method: str, params: Dict[str, Any]) -> Any:
        assert self.handle is not None
        return await self.handle(method, params)
