"""Calls code of the user: functions in a new thread each, coroutine functions on the loop."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from typing import Any, Callable, FrozenSet

# The sessions whose code is being called in this context, by the id of the object.
_inside: contextvars.ContextVar[FrozenSet[int]] = contextvars.ContextVar("capstan_inside", default=frozenset())


def is_inside(session: object) -> bool:
    """Whether the caller is a tool, hook or other callback of this session."""
    return id(session) in _inside.get()


async def call_user(session: object, function: Callable[..., Any], *args: Any) -> Any:
    """Call a function of the user and return its result.

    A plain function runs in a new thread, not in a pool: callbacks can call the session, which can call further
    callbacks, and a pool without a free thread would wait for itself.
    """
    token = _inside.set(_inside.get() | {id(session)})
    try:
        if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):
            return await function(*args)
        result = await _in_thread(function, *args)
        return await result if inspect.isawaitable(result) else result
    finally:
        _inside.reset(token)


async def _in_thread(function: Callable[..., Any], *args: Any) -> Any:
    loop = asyncio.get_running_loop()
    done: "asyncio.Future[Any]" = loop.create_future()
    context = contextvars.copy_context()

    def settle(result: Any, error: Any) -> None:
        if done.cancelled():
            return
        if error is None:
            done.set_result(result)
        elif isinstance(error, StopIteration):
            # A future does not take it.
            done.set_exception(RuntimeError(f"The callback raised {error!r}."))
        else:
            done.set_exception(error)

    def work() -> None:
        result, failure = None, None
        try:
            result = context.run(function, *args)
        except BaseException as error:  # noqa: BLE001  (given to the caller)
            failure = error
        try:
            loop.call_soon_threadsafe(settle, result, failure)
        except RuntimeError:
            # The loop was closed while the function ran: no caller waits any longer.
            return

    threading.Thread(target=work, name="capstan-callback", daemon=True).start()
    return await done
