"""The story of being asked how one is."""

import pytest

from portico.box.core.report import Backend, Report
from portico.engine.core.errors import StoreUnavailable
from portico.engine.core.store import Source, StoreStatus
from portico.engine.show_status import HouseStatus, ShowStatus
from portico.guard.core.errors import NotPermitted
from portico.guard.core.roles import Role
from portico.testing.guard import a_person

BOXES = [Report(backend=Backend.LANDLOCK, missing="the kernel has none")]


def a_status(*, running: bool = True, pending: int | None = 0) -> StoreStatus:
    return StoreStatus(source=Source.EMBEDDED, address="memory", running=running, pending=pending)


def showing(status: StoreStatus) -> ShowStatus:
    async def ask() -> StoreStatus:
        return status

    async def kept_in() -> str:
        return "age"

    return ShowStatus(store_status=ask, boxes=lambda: BOXES, secrets_in=kept_in)


@pytest.mark.parametrize(
    ("status", "ready"),
    [
        (a_status(), True),
        (a_status(pending=1), False),
        (a_status(pending=None), False),
        (a_status(running=False), False),
    ],
)
async def test_it_is_ready_when_the_store_runs_and_nothing_is_pending(
    status: StoreStatus, ready: bool
) -> None:
    if ready:
        await showing(status).ready()
    else:
        with pytest.raises(StoreUnavailable):
            await showing(status).ready()


async def test_how_it_is_is_shown_to_who_may_see_it() -> None:
    viewer, guest = a_person(roles=[Role.VIEWER]), a_person(roles=[])

    shown = await showing(a_status())(viewer)
    assert shown == HouseStatus(store=a_status(), boxes=BOXES, secrets="age")
    with pytest.raises(NotPermitted):
        await showing(a_status())(guest)
