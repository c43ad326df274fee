"""The private loop of the blocking calls: one thread for all agents of the program."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any, Coroutine, Optional, TypeVar

from ._errors import CapstanError

if TYPE_CHECKING:
    import asyncio

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
    import asyncio

    current = _thread()
    if threading.current_thread() is current.thread:
        coroutine.close()
        raise CapstanError(
            "A blocking call of capstan was made on its own loop, which would wait for itself. "
            "In an async callback use capstan.aio, or write the callback as a plain function.",
            "blocking_call_on_loop",
        )
    future = asyncio.run_coroutine_threadsafe(coroutine, current.loop)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


def _thread() -> _LoopThread:
    global _current
    with _lock:
        # After a fork the thread of the parent does not exist.
        if _current is None or _current.process != os.getpid():
            _current = _LoopThread()
        return _current
