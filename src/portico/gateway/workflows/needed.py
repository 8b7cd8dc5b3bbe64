"""What a run needs from around it: that it cannot be had is not what one of its steps came to."""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from portico.engine.execution import patiently
from portico.gateway.core.errors import ResultNotFound
from portico.gateway.workflows.came import Broken
from portico.guard.core.errors import ApprovalNotFound, KeyEnded
from portico.guard.core.vault import VaultClosed

_AROUND: Final = (ApprovalNotFound, KeyEnded, ResultNotFound, VaultClosed)

Had = TypeVar("Had")


async def needed(ask: Callable[[], Awaitable[Had]]) -> Had:
    """For as long as the store does not answer, it is asked again. Raises `Broken` where there is
    nothing to wait for, and what else `ask` raises."""
    try:
        return await patiently(ask)
    except _AROUND as error:
        raise Broken(error) from error
