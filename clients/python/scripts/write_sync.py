"""Writes src/capstan/_sync.py: the classes of capstan.aio as blocking calls. ``--check`` only compares.

Run it after a change of aio.py: python3 scripts/write_sync.py
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "capstan"
FACES = {"Agent": "Agent", "Session": "Session", "EventStream": "EventStream", "RunEventStream": "RunEventStream"}

HEADER = '''# Written by scripts/write_sync.py from aio.py. Do not edit.
"""The classes of capstan.aio as blocking calls."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Union

from ._launch import Command, launch
from ._loop import run

if TYPE_CHECKING:
    from . import aio
    from ._options import SessionOptions
    from ._records import (
        AgentResult,
        Event,
        HistoryMessage,
        ObjectResult,
        Record,
        RunEvent,
        RunSnapshot,
        SideAnswer,
        ToolInfo,
        ToolResult,
    )
    from ._tools import Tool

Path = Union[str, "os.PathLike[str]"]
Options = Union["SessionOptions", Mapping[str, Any], None]

'''

# Methods that are not a plain call of the coroutine.
OWN = {
    "Agent": '''
    def __init__(self, inner: "aio.Agent") -> None:
        self._inner = inner

    @classmethod
    def create(
        cls,
        source: Union[str, Mapping[str, Any], None] = None,
        *,
        cwd: Optional[Path] = None,
        env: Optional[Mapping[str, str]] = None,
        user_dir: Optional[Path] = None,
        command: Optional[Command] = None,
    ) -> "Agent":
        """Start a Capstan process and create an agent from ACL text, the path of an ``.acl`` file, or a dict.

        ``env`` is added to the environment of the process, ``command`` starts it instead of the command that is found.
        """
        # The process starts while the rest of the package is imported.
        process = launch(command, env)
        from . import aio

        return cls(run(aio.Agent._start(process, source, cwd, user_dir)))

    @classmethod
    def connect(cls, url: str, token: Optional[str] = None, *, timeout: float = 60.0) -> "Agent":
        """Connect to a Capstan server. Sessions and runs are on the server; ``timeout`` is in seconds per response."""
        from . import aio

        return cls(run(aio.Agent.connect(url, token, timeout=timeout)))

    @property
    def warnings(self) -> List[str]:
        """Warnings about the configuration."""
        return self._inner.warnings
''',
    "Session": '''
    def __init__(self, inner: "aio.Session") -> None:
        self._inner = inner
        # Tools get this object as ``context.session``.
        inner._shown = self  # type: ignore[attr-defined]
''',
    "EventStream": '''
    def __init__(self, inner: "aio.EventStream") -> None:
        self._inner = inner

    def __iter__(self) -> Iterator["Event"]:
        return self

    def __next__(self) -> "Event":
        event = run(_next(self._inner))
        if event is None:
            raise StopIteration
        return event
''',
    "RunEventStream": '''
    def __init__(self, inner: "aio.RunEventStream") -> None:
        self._inner = inner

    def __iter__(self) -> Iterator["RunEvent"]:
        return self

    def __next__(self) -> "RunEvent":
        event = run(_next(self._inner))
        if event is None:
            raise StopIteration
        return event
''',
}

FOOTER = '''

async def _next(stream: Any) -> Any:
    try:
        return await stream.__anext__()
    except StopAsyncIteration:
        return None


def _inner(value: Any) -> Any:
    return getattr(value, "_inner", value)
'''


def main() -> int:
    tree = ast.parse((PACKAGE / "aio.py").read_text())
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    parts = [HEADER]
    for name, face in FACES.items():
        parts.append(face_of(classes[name], face, classes))
    text = "".join(parts) + FOOTER
    target = PACKAGE / "_sync.py"
    if "--check" in sys.argv:
        if not target.exists() or target.read_text() != text:
            print(f"{target.name} is not what aio.py gives: run scripts/write_sync.py")
            return 1
        return 0
    target.write_text(text)
    return 0


def face_of(node: ast.ClassDef, face: str, classes: dict[str, ast.ClassDef]) -> str:
    doc = (ast.get_docstring(node) or "").replace("async for", "for").replace("async with", "with")
    text = f'\nclass {face}:\n    """{doc}"""\n{OWN[face]}'
    bodies = [*node.body]
    for base in node.bases:
        if isinstance(base, ast.Name) and base.id in classes:
            bodies.extend(classes[base.id].body)
    for item in bodies:
        if isinstance(item, ast.FunctionDef) and is_property(item):
            text += property_of(item)
        elif isinstance(item, ast.AsyncFunctionDef):
            text += method_of(item, face)
    return text


def is_property(item: ast.FunctionDef) -> bool:
    return any(isinstance(one, ast.Name) and one.id == "property" for one in item.decorator_list)


def property_of(item: ast.FunctionDef) -> str:
    returns = ast.unparse(item.returns) if item.returns is not None else "Any"
    return f"\n    @property\n    def {item.name}(self) -> {returns}:\n{doc_of(item)}        return self._inner.{item.name}\n"


def method_of(item: ast.AsyncFunctionDef, face: str) -> str:
    names = {"__aenter__": "__enter__", "__aexit__": "__exit__"}
    name = names.get(item.name, item.name)
    if (item.name.startswith("_") and item.name not in names) or item.decorator_list:
        return ""
    signature = f"\n    def {name}({ast.unparse(item.args)}) -> {ast.unparse(item.returns) if item.returns else 'Any'}:\n"
    if name == "__enter__":
        return signature + "        return self\n"
    if name == "__exit__":
        return signature + "        self.close()\n"
    returned = item.returns.value if isinstance(item.returns, ast.Constant) else None
    call = f"run(self._inner.{item.name}({arguments_of(item)}))"
    if isinstance(returned, str) and returned in FACES:
        call = f"{returned}({call})"
    return f"{signature}{doc_of(item)}        return {call}\n"


def arguments_of(item: ast.AsyncFunctionDef) -> str:
    given = item.args
    plain = [argument.arg for argument in given.args[1:]]
    named = [f"{argument.arg}={argument.arg}" for argument in given.kwonlyargs]
    more = [f"**{given.kwarg.arg}"] if given.kwarg is not None else []
    # A session is passed on as the session that it shows.
    return ", ".join(["_inner(session)" if name == "session" else name for name in plain] + named + more)


def doc_of(item: "ast.FunctionDef | ast.AsyncFunctionDef") -> str:
    doc = ast.get_docstring(item, clean=False)
    if doc is None:
        return ""
    return f'        """{doc.replace("Cancelling the task cancels the run.", "An interrupt cancels the run.")}"""\n'


if __name__ == "__main__":
    raise SystemExit(main())
