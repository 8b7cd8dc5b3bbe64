"""One call of a run, as plans and programs make it."""

from typing import Protocol

from portico.gateway.workflows.acting import Acting
from portico.gateway.workflows.came import Came
from portico.gateway.workflows.make_call import CallWish


class OneCall(Protocol):
    async def __call__(self, acting: Acting, wish: CallWish) -> Came:
        """What it came to; it raises nothing of that."""
        ...
