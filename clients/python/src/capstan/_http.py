"""The link to a Capstan server: maps the methods of sessions to requests of its HTTP API."""

from __future__ import annotations

import asyncio
import itertools
import json
import socket
import threading
import time
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Tuple
from urllib.parse import quote, urlencode, urlsplit

from ._calls import call_user
from ._errors import CapstanError, error_from
from ._link import Link
from ._options import CALLBACKS, ask_answer, question_answers
from ._records import ApprovalRequest, Question, records

if TYPE_CHECKING:
    from .aio import Session

_TERMINAL = ("agent_end", "error", "agent_cancelled")
_MAX_WAITING = 1000


class HttpLink(Link):
    """A server, with a connection for each request."""

    is_remote = True

    def __init__(self, url: str, token: Optional[str], timeout: float) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise CapstanError(f"{url!r} is not an address of a server: it must begin with http:// or https://.", "bad_url")
        self._parts = parts
        self._token = token
        self._timeout = timeout
        self._sessions: Dict[int, _RemoteSession] = {}
        self._streams: Dict[int, _Watch] = {}
        self._numbers = itertools.count(1)

    async def check(self) -> None:
        """Make sure that the server answers, and accepts the token."""
        await self.fetch("GET", "/v1/sessions?limit=1")

    async def fetch(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request, and return the JSON of the answer."""
        return await asyncio.to_thread(self._fetch, method, path, body)

    async def request(self, method: str, params: Dict[str, Any]) -> Any:
        if method == "stream/next":
            stream = self._streams.get(params["stream"])
            return {"events": [], "done": True} if stream is None else await stream.batch()
        if method == "stream/close":
            stream = self._streams.pop(params["stream"], None)
            return None if stream is None else await stream.close()
        if method == "agent/listSessions":
            return await self._list()
        if method == "agent/closeSession":
            return await self._close_session(params["sessionId"])
        area, _, name = method.partition("/")
        remote = self._sessions.get(params.get("session", 0)) if area == "session" else None
        answer = None if remote is None else getattr(remote, f"do_{name}", None)
        if answer is None:
            raise CapstanError(f"{method} is not available on a server.", "not_supported")
        return await answer(params)

    def notify(self, method: str, params: Dict[str, Any]) -> None:
        """A server runs no tools of its clients, so nothing reports progress."""

    async def open(self, session: "Session", params: Dict[str, Any]) -> Dict[str, Any]:
        given = session._options.given()
        local = sorted((CALLBACKS - {"on_ask", "on_question"}) & set(given))
        if local:
            raise CapstanError(
                f"A server does not call code of its clients: {', '.join(local)} cannot be set.", "not_supported"
            )
        options = {key: value for key, value in params["options"].items() if key not in ("title", "onAsk", "onQuestion")}
        kind = params.get("kind", "new")
        if kind == "resume":
            opened = await self.fetch("GET", f"/v1/sessions/{_segment(params['sessionId'])}")
        elif kind == "fork":
            body = {key: params[key] for key in ("fromMessageId", "beforeMessageId") if key in params}
            opened = await self.fetch("POST", f"/v1/sessions/{_segment(params['sessionId'])}/fork", body)
        elif kind == "new":
            body = {"options": options, "title": given.get("title"), "workspace": params.get("workspace")}
            if body["workspace"] == ".":
                del body["workspace"]
            opened = await self.fetch("POST", "/v1/sessions", {k: v for k, v in body.items() if v})
        else:
            raise CapstanError(f"Sessions of the kind {kind!r} cannot be opened on a server.", "not_supported")
        self._sessions[params["session"]] = _RemoteSession(self, session, opened["sessionId"])
        return {**opened, "initWarning": opened.get("warning")}

    async def close(self) -> None:
        for number in list(self._streams):
            await self._streams.pop(number).close()

    def add_stream(self, stream: "_Watch") -> int:
        number = next(self._numbers)
        self._streams[number] = stream
        return number

    async def _list(self) -> List[str]:
        found: List[str] = []
        cursor: Optional[str] = None
        while True:
            query = {"limit": "200", **({"cursor": cursor} if cursor else {})}
            page = await self.fetch("GET", f"/v1/sessions?{urlencode(query)}")
            found.extend(info["sessionId"] for info in page["sessions"])
            cursor = page.get("nextCursor")
            if cursor is None:
                return sorted(found)

    async def _close_session(self, session_id: str) -> bool:
        try:
            await self.fetch("POST", f"/v1/sessions/{_segment(session_id)}/close", {})
            return True
        except CapstanError as error:
            if error.code == "session_not_found":
                return False
            raise

    # In threads

    def connect(self) -> HTTPConnection:
        kind = HTTPSConnection if self._parts.scheme == "https" else HTTPConnection
        return kind(self._parts.hostname or "", self._parts.port, timeout=self._timeout)

    def send(self, connection: HTTPConnection, method: str, path: str, body: Any = None) -> HTTPResponse:
        headers = {"accept": "application/json, text/event-stream"}
        if self._token is not None:
            headers["authorization"] = f"Bearer {self._token}"
        data = None
        if method != "GET":
            headers["content-type"] = "application/json"
            data = json.dumps({} if body is None else body).encode()
        connection.request(method, self._parts.path.rstrip("/") + path, data, headers)
        response = connection.getresponse()
        if response.status >= 400:
            raise _problem(response)
        return response

    def _fetch(self, method: str, path: str, body: Any) -> Any:
        connection = self.connect()
        try:
            text = self.send(connection, method, path, body).read()
        except (OSError, HTTPException) as error:
            raise CapstanError(f"The server {self._parts.netloc} cannot be reached: {error}", "unreachable") from error
        finally:
            connection.close()
        return json.loads(text) if text else None


class _RemoteSession:
    """The methods of one session: ``do_history`` answers ``session/history``."""

    def __init__(self, link: HttpLink, session: "Session", session_id: str) -> None:
        self._link = link
        self._session = session
        self._path = f"/v1/sessions/{_segment(session_id)}"

    async def _get(self, path: str, field: Optional[str] = None) -> Any:
        answer = await self._link.fetch("GET", self._path + path)
        return answer if field is None else answer[field]

    async def _post(self, path: str, body: Any = None) -> Any:
        return await self._link.fetch("POST", self._path + path, body)

    # Runs

    async def _start(self, params: Dict[str, Any]) -> str:
        if params.get("history") is not None or params.get("runId") is not None:
            raise CapstanError("history and run_id cannot be given to a server.", "not_supported")
        body = {key: params[key] for key in ("prompt", "attachments", "metadata") if params.get(key) is not None}
        starting = asyncio.ensure_future(self._post("/runs", body))
        try:
            return (await asyncio.shield(starting))["runId"]
        except asyncio.CancelledError:
            # The request is on its way: the run that it starts is cancelled too.
            started = await starting
            await self._if_active(f"/runs/{_segment(started['runId'])}/cancel")
            raise

    async def _result(self, run_id: str) -> Any:
        watch = _Watch(self, run_id, 0, owns=True, numbered=False)
        try:
            while True:
                for event in (await watch.batch())["events"]:
                    if event["type"] == "agent_end":
                        return event["result"]
                    if event["type"] == "error":
                        raise error_from(event["error"], event.get("code", "unknown"), event)
                    if event["type"] == "agent_cancelled":
                        raise CapstanError(f"The run was cancelled: {event['reason']}", "cancelled")
                if watch.ended:
                    raise CapstanError("The run ended without a result.", "unknown")
        finally:
            await watch.close()

    async def do_send(self, params: Dict[str, Any]) -> Any:
        return await self._result(await self._start(params))

    async def do_stream(self, params: Dict[str, Any]) -> int:
        return self._link.add_stream(_Watch(self, await self._start(params), 0, owns=True, numbered=False))

    async def do_watch(self, params: Dict[str, Any]) -> int:
        start = params.get("from", 0)
        return self._link.add_stream(_Watch(self, params["runId"], start, owns=False, numbered=True))

    async def do_resumeRun(self, params: Dict[str, Any]) -> Any:
        resumed = await self._post(f"/runs/{_segment(params['runId'])}/resume")
        return await self._result(resumed["runId"])

    async def do_runs(self, _: Dict[str, Any]) -> Any:
        return [_run(run) for run in await self._get("/runs", "runs")]

    async def do_runSnapshot(self, params: Dict[str, Any]) -> Any:
        try:
            return _run(await self._get(f"/runs/{_segment(params['runId'])}"))
        except CapstanError as error:
            if error.code == "run_not_found":
                return None
            raise

    async def do_currentRun(self, params: Dict[str, Any]) -> Any:
        active = [run for run in await self.do_runs(params) if run["status"] == "running"]
        return active[-1] if active else None

    async def do_cancelRun(self, params: Dict[str, Any]) -> bool:
        return await self._if_active(f"/runs/{_segment(params['runId'])}/cancel")

    async def do_cancel(self, params: Dict[str, Any]) -> bool:
        run = await self.do_currentRun(params)
        return run is not None and await self._if_active(f"/runs/{_segment(run['id'])}/cancel")

    async def do_steer(self, params: Dict[str, Any]) -> bool:
        run = await self.do_currentRun(params)
        path = "" if run is None else f"/runs/{_segment(run['id'])}/steer"
        return run is not None and await self._if_active(path, {"text": params["text"]})

    async def _if_active(self, path: str, body: Any = None) -> bool:
        try:
            await self._post(path, body)
            return True
        except CapstanError as error:
            if error.code in ("run_not_active", "run_not_found"):
                return False
            raise

    async def do_btw(self, params: Dict[str, Any]) -> Any:
        return await self._post("/side-questions", {"question": params["question"]})

    async def do_generateObject(self, params: Dict[str, Any]) -> Any:
        return await self._post("/objects", {"prompt": params["prompt"], "schema": params["schema"]})

    # What it is and has

    async def do_close(self, params: Dict[str, Any]) -> None:
        await self._post("/close")
        self._link._sessions.pop(params["session"], None)

    async def do_save(self, _: Dict[str, Any]) -> None:
        """A server stores everything as it happens."""

    async def _update(self, body: Dict[str, Any]) -> None:
        await self._link.fetch("PATCH", self._path, body)

    async def do_setTitle(self, params: Dict[str, Any]) -> None:
        await self._update({"title": params["title"]})

    async def do_setMode(self, params: Dict[str, Any]) -> None:
        await self._update({"mode": params.get("mode")})

    async def do_setModel(self, params: Dict[str, Any]) -> None:
        await self._update({"model": params["name"]})

    async def do_title(self, _: Dict[str, Any]) -> Any:
        return await self._get("", "title")

    async def do_mode(self, _: Dict[str, Any]) -> Any:
        return await self._get("", "mode")

    async def do_modelName(self, _: Dict[str, Any]) -> Any:
        return await self._get("", "model")

    async def do_history(self, _: Dict[str, Any]) -> Any:
        return await self._get("/history", "history")

    async def do_messages(self, _: Dict[str, Any]) -> Any:
        return await self._get("/messages", "messages")

    async def do_rewind(self, params: Dict[str, Any]) -> Any:
        return await self._post("/rewind", {"messageId": params["messageId"]})

    async def do_unrewind(self, _: Dict[str, Any]) -> Any:
        return (await self._post("/unrewind"))["shown"]

    async def do_changes(self, params: Dict[str, Any]) -> Any:
        query = {"diff": "true" if params.get("diff") else "false"}
        if params.get("runId") is not None:
            query["runId"] = params["runId"]
        return await self._get(f"/changes?{urlencode(query)}", "changes")

    async def do_undo(self, params: Dict[str, Any]) -> Any:
        return await self._post("/undo", {"runId": params["runId"]} if params.get("runId") else {})

    async def do_todos(self, _: Dict[str, Any]) -> Any:
        return await self._get("/todos", "todos")

    async def do_traceEvents(self, _: Dict[str, Any]) -> Any:
        return await self._get("/traces", "traces")

    async def do_spending(self, _: Dict[str, Any]) -> Any:
        return await self._get("/usage")

    async def do_mcpStatus(self, _: Dict[str, Any]) -> Any:
        return await self._get("/mcp", "servers")

    # Tools and approvals

    async def do_tool(self, params: Dict[str, Any]) -> Any:
        return await self._post(f"/tools/{_segment(params['name'])}", {"args": params.get("args", {})})

    async def do_toolDefinitions(self, _: Dict[str, Any]) -> Any:
        return await self._get("/tools", "tools")

    async def do_toolNames(self, params: Dict[str, Any]) -> Any:
        return [tool["name"] for tool in await self.do_toolDefinitions(params)]

    async def do_explain(self, params: Dict[str, Any]) -> Any:
        body = {"toolName": params["name"], "args": params.get("args", {})}
        return await self._post("/permissions/explain", body)

    async def do_pendingConfirmations(self, _: Dict[str, Any]) -> Any:
        return [{"toolId": one["callId"], **one} for one in await self._get("/approvals", "approvals")]

    async def do_confirmToolUse(self, params: Dict[str, Any]) -> bool:
        decision = params.get("decision") or "once" if params["approved"] is True else "reject"
        return await self._decide(params["toolId"], {"decision": decision, "message": params.get("reason")})

    async def _decide(self, call_id: str, answer: Dict[str, Any]) -> bool:
        body = {key: value for key, value in answer.items() if key in ("decision", "message") and value is not None}
        try:
            await self._post(f"/approvals/{_segment(call_id)}", body)
            return True
        except CapstanError as error:
            if error.code in ("approval_not_found", "already_answered"):
                return False
            raise

    # Code of the user that a run waits for

    async def react(self, event: Dict[str, Any]) -> None:
        """Ask the user about an approval or a question that an event reports."""
        options = self._session._options
        if event["type"] == "confirmation_required" and options.on_ask is not None:
            waiting = await self._get("/approvals", "approvals")
            approval = next((one for one in waiting if one["callId"] == event["toolId"]), None)
            if approval is not None:
                request = ApprovalRequest({**approval, "id": approval["callId"]})
                answer = ask_answer(await call_user(self._session, options.on_ask, request))
                known = answer.get("decision") in ("once", "session", "always", "reject")
                await self._decide(approval["callId"], answer if known else {"decision": "reject"})
        if event["type"] == "user_question" and options.on_question is not None:
            for asked in await self._get("/questions", "questions"):
                questions = records(Question, asked["questions"])
                given = await call_user(self._session, options.on_question, questions)
                answers = question_answers(given, len(questions))
                await self._answer(asked["questionId"], answers)

    async def _answer(self, question_id: str, answers: Dict[str, Any]) -> None:
        try:
            await self._post(f"/questions/{_segment(question_id)}", answers)
        except CapstanError as error:
            # Another client was faster.
            if error.code not in ("question_not_found", "already_answered"):
                raise


class _Watch:
    """The events of a run, read by a thread. A connection that breaks is opened again after the last event."""

    def __init__(self, remote: _RemoteSession, run_id: str, start: int, *, owns: bool, numbered: bool) -> None:
        self._remote = remote
        self._link = remote._link
        self._path = f"{remote._path}/runs/{_segment(run_id)}"
        self._last = start
        self._owns = owns
        self._numbered = numbered
        self._loop = asyncio.get_running_loop()
        self._arrived: List[Any] = []
        self._news = asyncio.Event()
        self._places = threading.Semaphore(_MAX_WAITING)
        self._connection: Optional[HTTPConnection] = None
        self._left = False
        self._failure: Optional[BaseException] = None
        self._reacting: List["asyncio.Task[None]"] = []
        self.ended = False
        threading.Thread(target=self._work, name="capstan-events", daemon=True).start()

    async def batch(self) -> Dict[str, Any]:
        while not self._arrived and not self.ended:
            self._news.clear()
            await self._news.wait()
        events, self._arrived = self._arrived, []
        for _ in events:
            self._places.release()
        if not events and self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        return {"events": events, "done": self.ended and self._failure is None}

    async def close(self) -> None:
        left, self._left = self._left, True
        self._places.release(_MAX_WAITING)
        if self._connection is not None and self._connection.sock is not None:
            try:
                self._connection.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # It is closed already.
        for task in self._reacting:
            task.cancel()
        if self._owns and not self.ended and not left:
            await self._remote._if_active(self._path[len(self._remote._path) :] + "/cancel")

    def _take(self, sequence: int, event: Dict[str, Any]) -> None:
        self._arrived.append({"sequence": sequence, "event": event} if self._numbered else event)
        if self._owns and event["type"] in ("confirmation_required", "user_question"):
            self._reacting.append(self._loop.create_task(self._react(event)))
        self._news.set()

    async def _react(self, event: Dict[str, Any]) -> None:
        try:
            await self._remote.react(event)
        except Exception as error:  # noqa: BLE001  (given to the reader of the events)
            self._end(error)

    def _end(self, failure: Optional[BaseException]) -> None:
        if failure is not None and self._failure is None:
            self._failure = failure
        self.ended = True
        self._news.set()

    # In the thread

    def _work(self) -> None:
        failure: Optional[BaseException] = None
        pause = 0.5
        while not self._left:
            try:
                if self._read():
                    break
                pause = 0.5
            except CapstanError as error:
                status = error.details.get("status", 500)
                if status < 500 and status != 429:
                    failure = error
                    break
            except (OSError, HTTPException, ValueError):
                pass  # The connection broke: the next one brings the rest.
            time.sleep(pause)
            pause = min(pause * 2, 30.0)
        self._call(self._end, failure)

    def _read(self) -> bool:
        """Read one connection. True when the run has ended."""
        connection = self._connection = self._link.connect()
        try:
            response = self._link.send(connection, "GET", f"{self._path}/events?from={self._last}")
            if response.status == 204:
                return True
            for number, data in _server_sent_events(response):
                event = json.loads(data)
                # What was missed is in the log of the server: the next connection brings it.
                if event["type"] == "events_missed":
                    return False
                self._last = self._last if number is None else number
                self._places.acquire()
                if self._left:
                    return True
                self._call(self._take, self._last, event)
                if event["type"] in _TERMINAL:
                    return True
            return False
        finally:
            connection.close()

    def _call(self, function: Callable[..., None], *args: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(function, *args)
        except RuntimeError:
            self._left = True  # The loop was closed: no reader is left.


def _server_sent_events(response: HTTPResponse) -> Iterator[Tuple[Optional[int], str]]:
    number: Optional[int] = None
    data: List[str] = []
    for line in response:
        text = line.decode("utf-8").rstrip("\r\n")
        if text == "":
            if data:
                yield number, "\n".join(data)
            number, data = None, []
            continue
        field, _, value = text.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if field == "data":
            data.append(value)
        elif field == "id" and value.isdigit():
            number = int(value)


def _problem(response: HTTPResponse) -> CapstanError:
    try:
        problem = json.loads(response.read())
    except ValueError:
        problem = {}
    text = problem.get("detail") or problem.get("title") or f"The server answered {response.status}."
    return error_from(text, str(problem.get("code", "unknown")), {"status": response.status, **problem})


def _run(run: Dict[str, Any]) -> Dict[str, Any]:
    return {"id": run["runId"], **run}


def _segment(text: str) -> str:
    return quote(text, safe="")
