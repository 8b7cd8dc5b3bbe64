"""An operator says how secret a server is, and what may be sent to it."""

from dataclasses import replace

import pytest

from portico.gateway.label_server import Labelling
from portico.guard.core.errors import NotPermitted, Overreach
from portico.kernel.label import PUBLIC, Label, Level
from portico.testing.audit import MemoryAudit
from tests.gateway.open_room import ANA, SECRETARY, VIEWER, OpenRoom

TEAM = Label(Level.TEAM)
SECRET = Label(Level.CONFIDENTIAL)
HR = Label(Level.TEAM, frozenset({"hr"}))


def the_audit(room: OpenRoom) -> MemoryAudit:
    assert isinstance(room.doors.audit, MemoryAudit)
    return room.doors.audit


async def test_what_is_said_is_kept_and_what_is_not_stays() -> None:
    room = OpenRoom()

    await room.use.label_server(ANA, "files", Labelling(label=TEAM))
    server = await room.use.label_server(ANA, "files", Labelling(trusted=True))

    assert (server.label, server.clearance, server.trusted) == (TEAM, TEAM, True)
    assert (await room.use.show_server(ANA, "files")).server.label == TEAM


async def test_each_change_is_in_the_audit_with_what_it_was() -> None:
    room = OpenRoom()

    await room.use.label_server(SECRETARY, "files", Labelling(clearance=SECRET))
    await room.use.label_server(SECRETARY, "files", Labelling(clearance=SECRET))

    assert the_audit(room).actions == ["server.labelled"]


@pytest.mark.parametrize(
    "wish",
    [
        Labelling(label=SECRET),
        Labelling(label=HR),
        Labelling(clearance=SECRET),
        Labelling(clearance=HR),
    ],
)
async def test_nobody_says_more_than_they_are_cleared_for(wish: Labelling) -> None:
    room = OpenRoom()

    with pytest.raises(Overreach):
        await room.use.label_server(ANA, "files", wish)

    assert the_audit(room).actions == []


async def test_what_may_be_sent_can_be_narrowed_by_whoever_could_not_widen_it() -> None:
    room = OpenRoom()
    room.label("files", clearance=Label(Level.RESTRICTED))

    server = await room.use.label_server(ANA, "files", Labelling(clearance=PUBLIC))

    assert server.clearance == PUBLIC


async def test_it_takes_somebody_who_approves_servers() -> None:
    room = OpenRoom()

    for caller in (VIEWER, replace(ANA, scopes=frozenset({"servers:write"}))):
        with pytest.raises(NotPermitted):
            await room.use.label_server(caller, "files", Labelling(trusted=True))
