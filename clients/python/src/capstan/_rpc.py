"""JSON-RPC 2.0 as lines of JSON over the pipes of the Capstan process, in both directions."""

from __future__ import annotations

import asyncio
import json
import queue
import subprocess
import threading
from collections import deque
from typing import Any, Awaitable, Callable, Deque, Dict, Optional

from ._errors import CapstanError, error_from

Handler = Callable[[str, Dict[str, Any]], Awaitable[Any]]

_CANCELLED = -32800
_NOT_FOUND = -32601
_INTERNAL = -32603
_END = object()


class Connection:
    """The connection to one Capstan process.

    Threads read and write the pipes: the size of a line is not limited, and a slow process does not block the loop.
    All other work happens on the loop that started the connection.
    """

    def __init__(self, process: "subprocess.Popen[bytes]", handle: Handler) -> None:
        self._process = process
        self._handle = handle
        self._loop = asyncio.get_running_loop()
        self._pending: Dict[int, "asyncio.Future[Any]"] = {}
        self._answering: Dict[Any, "asyncio.Task[None]"] = {}
        self._outbox: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
        self._errors: Deque[bytes] = deque(maxlen=50)
        self._last_id = 0
        self._failure: Optional[CapstanError] = None
        self._ended = asyncio.Event()
        self._closing = False
        self._problem: Optional[str] = None
        self._readers = [self._start(self._read), self._start(self._read_errors)]
        self._start(self._write)
        self._start(self._wait)

    def _start(self, work: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=work, name=f"capstan{work.__name__}", daemon=True)
        thread.start()
        return thread

    async def request(self, method: str, params: Dict[str, Any]) -> Any:
        """Call a method of the process. Cancelling the caller cancels the request."""
        if self._failure is not None:
            raise self._failure
        self._last_id += 1
        number = self._last_id
        answer: "asyncio.Future[Any]" = self._loop.create_future()
        self._pending[number] = answer
        self._send({"id": number, "method": method, "params": params})
        try:
            return await answer
        except asyncio.CancelledError:
            if number in self._pending:
                self.notify("$/cancel_request", {"requestId": number})
            raise
        finally:
            self._pending.pop(number, None)

    def notify(self, method: str, params: Dict[str, Any]) -> None:
        if self._failure is None:
            self._send({"method": method, "params": params})

    async def close(self, grace: float = 10.0) -> None:
        """End the process: it closes its sessions when its input ends. It is killed when it takes too long."""
        self._closing = True
        self._outbox.put(_END)
        try:
            await asyncio.wait_for(self._ended.wait(), grace)
        except asyncio.TimeoutError:
            self._process.kill()
            await self._ended.wait()

    def _send(self, message: Dict[str, Any]) -> None:
        # Serialized here, so that a value that is not JSON is an error of its caller.
        text = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False, separators=(",", ":"))
        self._outbox.put(text.encode("utf-8", "surrogatepass") + b"\n")

    # Threads

    def _write(self) -> None:
        pipe = self._process.stdin
        assert pipe is not None
        try:
            while (line := self._outbox.get()) is not _END:
                pipe.write(line)
                if self._outbox.empty():
                    pipe.flush()
        except (OSError, ValueError):
            # The process has ended: the end of its output reports that.
            pass
        finally:
            try:
                pipe.close()
            except OSError:
                pass  # What is left in the buffer has no reader.

    def _read(self) -> None:
        pipe = self._process.stdout
        assert pipe is not None
        with pipe:
            for line in pipe:
                try:
                    message = json.loads(line)
                except ValueError:
                    self._problem = f"It wrote {line[:200]!r} to its standard output, which is not JSON."
                    self._process.kill()
                    return
                try:
                    self._loop.call_soon_threadsafe(self._receive, message)
                except RuntimeError:
                    self._process.kill()  # The loop was closed: nothing can be delivered.
                    return

    def _read_errors(self) -> None:
        pipe = self._process.stderr
        assert pipe is not None
        with pipe:
            for line in pipe:
                self._errors.append(line[:2000])

    def _wait(self) -> None:
        status = self._process.wait()
        # Its last output is read first. Its children can still hold the pipes open, so their end is not waited for.
        for reader in self._readers:
            reader.join(2.0)
        try:
            self._loop.call_soon_threadsafe(self._end, status)
        except RuntimeError:
            return  # The loop was closed.

    # The loop

    def _receive(self, message: Any) -> None:
        if not isinstance(message, dict):
            return
        method, number = message.get("method"), message.get("id")
        params = message.get("params") or {}
        if isinstance(method, str) and number is not None:
            self._answering[number] = self._loop.create_task(self._answer(number, method, params))
        elif method == "$/cancel_request":
            task = self._answering.get(params.get("requestId"))
            if task is not None:
                task.cancel()
        elif number in self._pending:
            self._settle(self._pending.pop(number), message)

    def _settle(self, answer: "asyncio.Future[Any]", message: Dict[str, Any]) -> None:
        if answer.done():
            return
        error = message.get("error")
        if error is None:
            answer.set_result(message.get("result"))
            return
        data = error.get("data") or {}
        text = str(error.get("message", "The request failed."))
        if error.get("code") == _NOT_FOUND:
            text += " The capstan command does not fit this package: install the same version of both."
            data = {"code": "method_not_found"}
        elif error.get("code") == _CANCELLED:
            data = {"code": "cancelled", **data}
        answer.set_exception(error_from(text, str(data.get("code", "unknown")), data))

    async def _answer(self, number: Any, method: str, params: Dict[str, Any]) -> None:
        try:
            outcome: Dict[str, Any] = {"result": {"value": await self._handle(method, params)}}
            self._send({"id": number, **outcome})
            return
        except asyncio.CancelledError:
            error = {"code": _CANCELLED, "message": "The callback was cancelled."}
        except LookupError as missing:
            error = {"code": _INTERNAL, "message": f"{type(missing).__name__}: {missing}"}
        except BaseException as failure:  # noqa: BLE001  (reported to the process, which decides)
            error = {"code": _INTERNAL, "message": str(failure) or type(failure).__name__}
        finally:
            self._answering.pop(number, None)
        if self._failure is None:
            self._send({"id": number, "error": error})

    def _end(self, status: int) -> None:
        if self._closing:
            self._failure = CapstanError("The agent is closed.", "session_closed")
        else:
            said = b"".join(self._errors).decode("utf-8", "replace").strip()
            how = f"was ended by signal {-status}" if status < 0 else f"ended with exit status {status}"
            text = " ".join(part for part in (f"The capstan process {how}.", self._problem, said) if part)
            self._failure = CapstanError(text, "process_ended", {"status": status})
        for answer in list(self._pending.values()):
            if not answer.done():
                answer.set_exception(self._failure)
                answer.exception()  # A caller that was cancelled does not read it.
        self._pending.clear()
        for task in list(self._answering.values()):
            task.cancel()
        self._outbox.put(_END)
        self._ended.set()
