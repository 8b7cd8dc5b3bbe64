"""What takes too long is said, with its name and its time and nothing of what it was about."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from types import TracebackType
from typing import Final, Self


@dataclass(frozen=True, slots=True)
class Thresholds:
    """In seconds: from here on a warning, from there on an error."""

    warning: float = 0.5
    error: float = 2.0


USUAL: Final = Thresholds()


class SlowCalls:
    """`with slow.watch("transaction"):` around whatever should be fast; it costs about a
    microsecond when it is."""

    def __init__(
        self,
        room: str,
        thresholds: Thresholds = USUAL,
        each: Callable[[float], None] | None = None,
    ) -> None:
        """`each` gets every time, fast or slow."""
        self._log = logging.getLogger(room)
        self._thresholds = thresholds
        self._each = each

    def watch(self, name: str) -> "Watch":
        return Watch(self, name)

    def took(self, name: str, seconds: float) -> None:
        """For what has been timed already."""
        if self._each is not None:
            self._each(seconds)
        if seconds > self._thresholds.warning:
            level = logging.ERROR if seconds > self._thresholds.error else logging.WARNING
            facts = {"slow": name, "seconds": round(seconds, 3)}
            self._log.log(level, "%s took %.3f s", name, seconds, extra=facts)


class Watch:
    __slots__ = ("_calls", "_name", "_started", "seconds")

    seconds: float
    """Known when it has ended."""

    def __init__(self, calls: SlowCalls, name: str) -> None:
        self._calls = calls
        self._name = name

    def __enter__(self) -> Self:
        self._started = perf_counter()
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self.seconds = perf_counter() - self._started
        self._calls.took(self._name, self.seconds)
