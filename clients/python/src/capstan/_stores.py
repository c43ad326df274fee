"""Objects of the session options. They describe what the Capstan process opens; nothing is opened in Python."""

from __future__ import annotations

import os
import uuid
from typing import Any, Dict, List, Mapping, Optional, Union

Path = Union[str, "os.PathLike[str]"]


class Described:
    """An option from which the Capstan process creates an object."""

    def wire(self) -> Dict[str, Any]:
        raise NotImplementedError


class _Store(Described):
    def __init__(self, kind: str, path: Path) -> None:
        self.kind = kind
        self.path = os.path.abspath(os.fspath(path))

    def wire(self) -> Dict[str, Any]:
        return {"kind": self.kind, "path": self.path}


class FileSessionStore(_Store):
    """Stores sessions as files of a directory."""

    def __init__(self, directory: Path) -> None:
        super().__init__("file", directory)


class SqliteSessionStore(_Store):
    """Stores sessions in an SQLite database."""

    def __init__(self, path: Path) -> None:
        super().__init__("sqlite", path)


class MemorySessionStore(Described):
    """Stores sessions in the memory of the Capstan process, for as long as the agent is open."""

    def __init__(self) -> None:
        self.id = uuid.uuid4().hex

    def wire(self) -> Dict[str, Any]:
        return {"kind": "memory", "id": self.id}


class FileMemoryStore(_Store):
    """Saves memories as files of a directory."""

    def __init__(self, directory: Path) -> None:
        super().__init__("file", directory)


class DefaultSecurityProvider(Described):
    """Removes secrets and personal data from texts."""

    def wire(self) -> Dict[str, Any]:
        return {"kind": "default"}


class LocalWorkspaceBackend(Described):
    """A directory of this machine as the workspace."""

    def __init__(self, root: Path) -> None:
        self.root = os.path.abspath(os.fspath(root))

    def wire(self) -> Dict[str, Any]:
        return {"kind": "local", "root": self.root}


class HttpTransport(Described):
    """A supervisor that is reached over HTTP."""

    kind = "http"

    def __init__(self, url: str, auth_token: Optional[str] = None) -> None:
        self.url = url
        self.auth_token = auth_token

    def wire(self) -> Dict[str, Any]:
        return {"kind": self.kind, "url": self.url, "authToken": self.auth_token}


class WebSocketTransport(HttpTransport):
    """A supervisor that is reached over a WebSocket."""

    kind = "websocket"


class StdioTransport(Described):
    """A supervisor that is started as a program."""

    kind = "stdio"

    def __init__(self, program: str, args: Optional[List[str]] = None, env: Optional[Mapping[str, str]] = None) -> None:
        self.program = program
        self.args = list(args or [])
        self.env = dict(env) if env is not None else None

    def wire(self) -> Dict[str, Any]:
        return {"kind": self.kind, "program": self.program, "args": self.args, "env": self.env}


class UnixSocketTransport(Described):
    """A supervisor that listens on a Unix socket."""

    kind = "unix_socket"

    def __init__(self, path: Path) -> None:
        self.path = os.fspath(path)

    def wire(self) -> Dict[str, Any]:
        return {"kind": self.kind, "path": self.path}
