"""The private loop of the blocking calls: one thread for all agents of the program."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any, Coroutine, List, Optional, TypeVar

from ._errors import CapstanError

if TYPE_CHECKING:
    import asyncio
    import concurrent.futures

T = TypeVar("T")

_lock = threading.Lock()
_current: Optional["_LoopThread"] = None


class _LoopThread:
    def __init__(self) -> None:
        import asyncio

        self.process = os.getpid()
        self.loop: "asyncio.AbstractEventLoop" = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, name="capstan-loop", daemon=True)
        self.thread.start()


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the private loop and wait for its result. An interrupt cancels it."""
    import concurrent.futures

    current = _thread()
    if threading.current_thread() is current.thread:
        coroutine.close()
        raise CapstanError(
            "A blocking call of capstan was made on its own loop, which would wait for itself. "
            "In an async callback use capstan.aio, or write the callback as a plain function.",
            "blocking_call_on_loop",
        )
    result: "concurrent.futures.Future[T]" = concurrent.futures.Future()
    started: List["asyncio.Task[T]"] = []

    def start() -> None:
        task = current.loop.create_task(coroutine)
        started.append(task)
        task.add_done_callback(lambda done: _copy(done, result))

    def stop() -> None:
        if started:
            started[0].cancel()
        else:
            coroutine.close()

    # An interrupt can come between any two steps. The loop runs `start` before `stop`, if both were passed to it.
    try:
        current.loop.call_soon_threadsafe(start)
        return result.result()
    except BaseException:
        if not result.done():
            current.loop.call_soon_threadsafe(stop)
        raise


def _copy(done: "asyncio.Task[T]", result: "concurrent.futures.Future[T]") -> None:
    if done.cancelled():
        result.cancel()
        return
    error = done.exception()
    if error is None:
        result.set_result(done.result())
    else:
        result.set_exception(error)


def _thread() -> _LoopThread:
    global _current
    with _lock:
        # After a fork the thread of the parent does not exist.
        if _current is None or _current.process != os.getpid():
            _current = _LoopThread()
        return _current
