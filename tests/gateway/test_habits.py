"""What was used is written down now and then, and not lost when it cannot be."""

from collections.abc import Mapping
from datetime import datetime

import pytest

from portico.engine.core.errors import StoreUnavailable
from portico.gateway.core.tool import ToolRef
from portico.gateway.habits import Habits
from portico.kernel.principal import Principal
from portico.testing.calls import MemoryAcquaintances
from portico.testing.kernel import TickingClock
from tests.gateway.open_room import ANA, READ, OpenRoom


class Away(MemoryAcquaintances):
    there = False

    async def used(self, caller: Principal, refs: Mapping[ToolRef, int], at: datetime) -> None:
        if not self.there:
            raise StoreUnavailable("away")
        await super().used(caller, refs, at)


async def test_what_cannot_be_written_stays_noted() -> None:
    known = Away(OpenRoom().world)
    habits = Habits(acquaintances=known, clock=TickingClock())
    habits.note(ANA, READ.ref)
    with pytest.raises(StoreUnavailable):
        await habits.write_down()

    known.there = True
    habits.note(ANA, READ.ref)
    await habits.write_down()

    assert await known.most_used(ANA, 5) == [READ.ref]
