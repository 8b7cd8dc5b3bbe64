"""What a suggestion asks of the lane in which calls are made ahead of time."""

from collections.abc import Sequence
from typing import Protocol

from portico.kernel.principal import Principal
from portico.learning.core.prefetch.wanted import Wanted


class These(Protocol):
    """Makes reads before they are asked for, and says which of them are under way."""

    async def __call__(
        self, caller: Principal, wanted: Sequence[Wanted], /
    ) -> Sequence[Wanted]: ...
