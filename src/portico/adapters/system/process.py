"""This process: signals, its end when asked for, and garbage collection."""

import asyncio
import gc
import logging
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FrameType
from typing import Any, Final


def end_orderly(asked: Callable[[], None]) -> None:
    """From now on being asked to end raises `SystemExit`, so that everything is let go of on the
    way out. While it serves, the web server takes the signal itself, and passes it on at its end.

    A closed terminal counts as being asked, unless we were started to outlive it (`nohup`).
    """

    def leave(_number: int, _frame: FrameType | None) -> None:
        asked()
        raise SystemExit(0)

    signal.signal(signal.SIGTERM, leave)
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))


_log: Final = logging.getLogger("portico.serve")
_PATIENCE: Final = (25.0, 5.0, 30.0)
_MOST: Final = 20
"""As many of those that are left are named."""


class LastCall:
    """For the main thread. A clock begins to run when the process is asked to end. Whenever it
    has run out, what is left is named, and whatever the main thread waits for is broken off: first
    what was to end by itself, then all of the loop. When it has run out for the last time, the
    process ends there and then: by its own hand, or by the signal itself should the interpreter
    be beyond hearing it."""

    def __init__(self, patience: Iterable[float] = _PATIENCE) -> None:
        """Seconds, one after another."""
        self._patience = iter(patience)
        self._begun = False

    def start(self) -> None:
        """More than once does no harm."""
        if self._begun or not hasattr(signal, "setitimer"):
            return
        self._begun = True
        signal.signal(signal.SIGALRM, self._late)
        self._wait(next(self._patience, 0.0))

    def _late(self, _number: int, _frame: FrameType | None) -> None:
        """Waits in C are broken off by the exception, too: PEP 475."""
        seconds = next(self._patience, None)
        left = "; ".join(what_is_left()) or "nothing that is known"
        if seconds is None:
            _log.error("ended by force; it still waited for: %s", left)
            logging.shutdown()
            os._exit(1)
        _log.error("asked to end, and broken off, since these do not end: %s", left)
        self._wait(seconds)
        raise SystemExit(1)

    def _wait(self, seconds: float) -> None:
        signal.setitimer(signal.ITIMER_REAL, seconds)


def what_is_left() -> Sequence[str]:
    """Tasks and where they wait, those with a name of their own first; and threads that the
    interpreter would wait for."""
    tasks = sorted(_tasks(), key=lambda each: (each.startswith("Task-"), each))
    return [*tasks[:_MOST], *sorted(_threads())[:_MOST]]


def _tasks() -> Iterator[str]:
    try:
        tasks = asyncio.all_tasks(asyncio.get_running_loop())
    except RuntimeError:  # between two loops
        return
    for task in tasks:
        yield f"{task.get_name()} in {_where(task)}"


def _where(task: "asyncio.Task[Any]") -> str:
    place: Any = task.get_coro()
    while hasattr(getattr(place, "cr_await", None), "cr_frame"):
        place = place.cr_await
    name = getattr(place, "__qualname__", repr(place))
    frame = getattr(place, "cr_frame", None)
    return name if frame is None else f"{name}, line {frame.f_lineno}"


def _threads() -> Iterator[str]:
    for thread in threading.enumerate():
        if thread is not threading.main_thread() and not thread.daemon:
            yield f"the thread {thread.name}"


# How often Python looks for garbage that refers to itself.

_YOUNG: Final = 10_000
_MIDDLE: Final = 20
_OLD: Final = 25


def collect_rarely() -> None:
    """For a process that lives long and keeps much: what is there by now is never looked through
    again, and the rest some hundred times more seldom than usual. A page that reads a thousand
    tools would otherwise have everything looked through that a server has in memory."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _MIDDLE, _OLD)
