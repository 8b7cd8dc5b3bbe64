"""What goes on for as long as a server runs, and ends with it."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Final

from portico.kernel.errors import PorticoError

_log: Final = logging.getLogger("portico.gateway")

_PAUSE: Final = 5.0
_TIMES_ASKED: Final = 3

Lasting = Callable[[], Coroutine[None, None, None]]


async def ended(tasks: Sequence[asyncio.Task[None]], *, pause: float = _PAUSE) -> None:
    """Asked again if need be: being cancelled can get lost in what it interrupts."""
    for _ in range(_TIMES_ASKED):
        for task in tasks:
            task.cancel()
        _, left = await asyncio.wait(tasks, timeout=pause)
        if not left:
            return
        names = ", ".join(sorted(task.get_name() for task in left))
        _log.warning("asked to end, and still going on in the background: %s", names)


async def kept_up(work: Lasting) -> None:
    """What goes on all the time goes on after a failure too, and takes nothing else with it: the
    database may be away for a while."""
    while True:
        try:
            await work()
        except Exception as error:  # noqa: BLE001 # the edge of a background loop
            _log.warning("begun again in %g s: %s", _PAUSE, error, exc_info=_unforeseen(error))
            await asyncio.sleep(_PAUSE)
        else:
            return


def _unforeseen(error: Exception) -> bool:
    return not isinstance(error, PorticoError)
