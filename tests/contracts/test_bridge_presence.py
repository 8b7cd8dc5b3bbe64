"""What every store of presence keeps to: one word of each, for as long as it is good."""

from dataclasses import replace
from datetime import timedelta

import pytest

from portico.bridge.core.errors import ProjectNotFound, WriteDown
from portico.bridge.core.presence import Doing, Presence
from portico.testing.kernel import BEGINNING
from tests.contracts.bridge_people import FINANCE, TEAM, a_project, cleared_root, joined
from tests.contracts.doors import Doors

UNTIL = BEGINNING + timedelta(minutes=2)


async def test_who_is_there_is_seen_until_it_is_over(doors: Doors) -> None:
    root = await cleared_root(doors)
    ann, project = await joined(doors, root, "ann"), await a_project(doors, root)

    await doors.presences.say(root, project.id, Doing.BUSY, "building", UNTIL)
    await doors.presences.say(ann, project.id, Doing.THERE, "", UNTIL + timedelta(seconds=1))

    assert await doors.presences.all(ann, project.id, BEGINNING) == [
        Presence(
            principal=ann.id, name="ann", doing=Doing.THERE, until=UNTIL + timedelta(seconds=1)
        ),
        Presence(principal=root.id, name="root", doing=Doing.BUSY, note="building", until=UNTIL),
    ]
    [left] = await doors.presences.all(ann, project.id, UNTIL)
    assert left.name == "ann"


async def test_what_one_says_last_is_what_counts(doors: Doors) -> None:
    root = await cleared_root(doors)
    project, other = await a_project(doors, root), await a_project(doors, root, "gemini")
    await doors.presences.say(root, project.id, Doing.BUSY, "building", UNTIL)

    await doors.presences.say(root, project.id, Doing.AWAY, "", UNTIL)

    [only] = await doors.presences.all(root, project.id, BEGINNING)
    assert (only.doing, only.note) == (Doing.AWAY, "")
    assert await doors.presences.all(root, other.id, BEGINNING) == []


async def test_a_project_that_one_cannot_see_has_nobody(doors: Doors) -> None:
    root, other = await cleared_root(doors), await cleared_root(doors, "acme")
    project = await a_project(doors, root, label=FINANCE)

    for caller in (replace(root, clearance=TEAM), other):
        with pytest.raises(ProjectNotFound):
            await doors.presences.say(caller, project.id, Doing.THERE, "", UNTIL)
        with pytest.raises(ProjectNotFound):
            await doors.presences.all(caller, project.id, BEGINNING)


async def test_who_has_read_more_does_not_tell_of_it_by_being_there(doors: Doors) -> None:
    root = await cleared_root(doors)
    project = await a_project(doors, root)
    await doors.presences.say(root, project.id, Doing.BUSY, "", UNTIL)
    await doors.contexts.rise(root, FINANCE, untrusted=False)

    with pytest.raises(WriteDown):
        await doors.presences.say(root, project.id, Doing.AWAY, "", UNTIL)

    [only] = await doors.presences.all(root, project.id, BEGINNING)
    assert only.doing is Doing.BUSY
