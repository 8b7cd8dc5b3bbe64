"""While a call takes its time: whether that is because somebody has to approve it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from portico.interfaces.cli.server import Server
from portico.kernel.errors import PorticoError

_BEFORE: Final = 1.5
"""Seconds; most calls are over by then, and nothing more is asked for their sake."""
_BETWEEN: Final = 3.0


@contextmanager
def told_what_waits(server: Server, tool: str, tell: Callable[[str], None]) -> Iterator[None]:
    over = threading.Event()
    watching = threading.Thread(target=_watch, args=(server, tool, tell, over), daemon=True)
    watching.start()
    try:
        yield
    finally:
        over.set()


def _watch(server: Server, tool: str, tell: Callable[[str], None], over: threading.Event) -> None:
    pause, me = _BEFORE, ""
    while not over.wait(pause):
        pause = _BETWEEN
        with suppress(PorticoError):  # whoever may not look is told less
            waiting = server.get("/approvals", status="waiting", limit=50)["data"]
            me = me or server.get("/me")["id"]
            mine = (each for each in waiting if each["asker"]["id"] == me)
            found = next((each for each in mine if each["tool"] == tool), None)
            if found is not None and not over.is_set():
                name = found["id"][-6:]
                tell(f"{tool} waits for approval: portico approvals show {name}")
