"""Write something down as secret as all that was read by then, whoever read it meanwhile."""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from portico.debate.leg import Leg
from portico.debate.ports import Tasks
from portico.engine.execution import patiently
from portico.kernel.errors import PorticoError
from portico.kernel.label import Label

_WRITE_DOWN: Final = "write_down"
"""What whoever keeps it says of something that is less secret than what was read for it."""

Written = TypeVar("Written")


async def as_read(leg: Leg, tasks: Tasks, write: Callable[[Label], Awaitable[Written]]) -> Written:
    """An agent that takes part raises the task's mark as soon as it reads, before it answers: what
    another voice said at that moment is written once more, as secret as that."""
    while True:
        before = leg.label
        try:
            return await patiently(lambda: write(leg.label))
        except PorticoError as error:
            if error.code != _WRITE_DOWN:
                raise
            leg.risen((await patiently(lambda: tasks.at(leg.caller))).label)
            if leg.label == before:
                raise
