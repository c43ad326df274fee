"""Shared by the tests: a model server with a script, and an agent that uses it."""

from __future__ import annotations

import json
import os
import select
import shutil
import socket
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, List, Optional, Union

Reply = Union[str, Dict[str, Any], Callable[[Dict[str, Any]], Any]]
# Long: a busy machine is slow, and a wait that never ends must fail in the end.
LONG = 110.0


class ModelServer:
    """Answers chat completions from a script: texts, ``{"tool": name, "args": {…}}``, or functions of the request."""

    def __init__(self, *script: Reply) -> None:
        self.script: List[Reply] = list(script)
        self.requests: List[Dict[str, Any]] = []
        self.released = threading.Event()
        self.asked = threading.Event()
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if self.is_abandoned():
                    return
                model.requests.append(request)
                model.asked.set()
                reply: Any = model.script.pop(0) if model.script else "Nothing is left of the script."
                reply = reply(request) if callable(reply) else reply
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                try:
                    for chunk in _chunks(reply):
                        self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
                    self.wfile.write(b"data: [DONE]\n\n")
                except OSError:
                    pass  # The client has cancelled the request.

            def is_abandoned(self) -> bool:
                """Whether the client has cancelled the request. Its reply could be of the script of the next test."""
                try:
                    is_readable = len(select.select([self.connection], [], [], 0)[0]) > 0
                    return is_readable and self.connection.recv(1, socket.MSG_PEEK) == b""
                except OSError:
                    return True

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def restart(self, *script: Reply) -> None:
        """Follow another script, and forget what was asked."""
        self.script = list(script)
        self.requests = []
        self.released.clear()
        self.asked.clear()

    def hold(self, reply: Reply) -> Callable[[Dict[str, Any]], Any]:
        """A reply that waits until ``released`` is set."""

        released = self.released

        def wait(request: Dict[str, Any]) -> Any:
            released.wait(LONG)
            return reply(request) if callable(reply) else reply

        return wait

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def acl(self) -> str:
        """A configuration that uses this server."""
        return f'''
default_model = "openai/small"
providers "openai" {{
  api_key = "test"
  base_url = "{self.url}"
  models "small" {{ name = "Small"  tool_call = true }}
}}
'''


def _chunks(reply: Any) -> Any:
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    if isinstance(reply, str):
        words = reply.split(" ")
        for at, word in enumerate(words):
            yield _chunk({"content": word if at == len(words) - 1 else word + " "})
        yield {**_chunk({}, "stop"), "usage": usage}
        return
    calls = reply if isinstance(reply, list) else [reply]
    for at, call in enumerate(calls):
        function = {"name": call["tool"], "arguments": json.dumps(call.get("args", {}))}
        call_id = call.get("id", f"call-{id(call)}-{at}")
        yield _chunk({"tool_calls": [{"index": at, "id": call_id, "type": "function", "function": function}]})
    yield {**_chunk({}, "tool_calls"), "usage": usage}


def _chunk(delta: Dict[str, Any], finish: Any = None) -> Dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "model": "small", "choices": [choice]}


class CapstanTest(unittest.TestCase):
    """
    A test with a workspace of its own. The tests of a class share a Capstan process and its model, and those of all
    classes do when ``python -m tests`` runs them.
    """

    is_shared_by_classes = False
    _model: Optional[ModelServer] = None
    _agent: Any = None
    _home: Optional[str] = None

    @classmethod
    def tearDownClass(cls) -> None:
        if not CapstanTest.is_shared_by_classes:
            close_shared()

    def setUp(self) -> None:
        self.base = os.path.realpath(tempfile.mkdtemp(prefix="capstan-python-"))
        self.addCleanup(shutil.rmtree, self.base, ignore_errors=True)
        self.workspace = os.path.join(self.base, "work")
        os.mkdir(self.workspace)

    def model(self, *script: Reply) -> ModelServer:
        """The shared model, with a new script."""
        CapstanTest._model = CapstanTest._model or ModelServer()
        CapstanTest._model.restart(*script)
        return CapstanTest._model

    def agent(self, *script: Reply) -> Any:
        """The shared agent, whose model follows a script."""
        from capstan import Agent

        model = self.model(*script)
        if CapstanTest._agent is None:
            CapstanTest._home = tempfile.mkdtemp(prefix="capstan-python-home-")
            CapstanTest._agent = Agent.create(model.acl, user_dir=CapstanTest._home)
        return CapstanTest._agent

    def own_agent(self, *script: Reply) -> Any:
        """An agent in a process of its own."""
        from capstan import Agent

        agent = Agent.create(self.model(*script).acl, user_dir=os.path.join(self.base, "user"))
        self.addCleanup(agent.close)
        return agent

    def scripted(self, *script: Reply, options: Any = None, **fields: Any) -> Any:
        """A session whose model follows a script."""
        session = self.agent(*script).session(self.workspace, options, **fields)
        self.addCleanup(session.close)
        return session

    def asked(self) -> List[Dict[str, Any]]:
        """The requests to the model since its last script began."""
        model = CapstanTest._model
        return [] if model is None else model.requests

    def write(self, name: str, text: str) -> None:
        with open(os.path.join(self.workspace, name), "w", encoding="utf-8") as file:
            file.write(text)


def close_shared() -> None:
    """End the process and the model that tests share."""
    if CapstanTest._agent is not None:
        CapstanTest._agent.close()
    if CapstanTest._model is not None:
        CapstanTest._model.close()
    if CapstanTest._home is not None:
        shutil.rmtree(CapstanTest._home, ignore_errors=True)
    CapstanTest._agent = CapstanTest._model = CapstanTest._home = None


def tool_results(request: Dict[str, Any]) -> List[str]:
    """The results of tools that a request shows to the model."""
    return [str(message["content"]) for message in request["messages"] if message["role"] == "tool"]
