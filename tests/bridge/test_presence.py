"""Who is there: for as long as they say so, and told by nobody who has read more."""

from dataclasses import replace

import pytest

from portico.bridge.core.errors import Archived, BadBridgeInput, ProjectNotFound, WriteDown
from portico.bridge.core.presence import GOOD_FOR, Doing
from portico.guard.core.errors import NotPermitted
from tests.bridge.talk_room import SECRET, TEAM
from tests.bridge.things_room import a_scene


async def test_who_says_so_is_there_for_a_while() -> None:
    scene = await a_scene()

    await scene.room.say_presence(scene.low, scene.project.id, Doing.THERE)
    await scene.room.say_presence(scene.low, scene.project.id, Doing.BUSY, "with the parser")
    [there] = await scene.room.list_presence(scene.high, scene.project.id)
    scene.room.clock.turn(GOOD_FOR)

    assert (there.name, there.doing, there.note) == ("low", Doing.BUSY, "with the parser")
    assert await scene.room.list_presence(scene.high, scene.project.id) == []
    assert await scene.room.mark(scene.high) == TEAM


async def test_who_has_read_more_says_nothing() -> None:
    scene = await a_scene()
    await scene.room.marks.read(scene.high, [SECRET])

    with pytest.raises(WriteDown):
        await scene.room.say_presence(scene.high, scene.project.id, Doing.THERE)

    assert await scene.room.list_presence(scene.low, scene.project.id) == []


async def test_in_a_secret_project_nobody_is_seen() -> None:
    scene = await a_scene(SECRET)
    await scene.room.say_presence(scene.high, scene.project.id, Doing.THERE)

    with pytest.raises(ProjectNotFound):
        await scene.room.list_presence(scene.low, scene.project.id)


async def test_a_note_is_short_and_a_project_that_is_put_away_is_empty() -> None:
    scene = await a_scene()

    with pytest.raises(BadBridgeInput):
        await scene.room.say_presence(scene.low, scene.project.id, Doing.THERE, "n" * 201)
    await scene.room.archive(scene.project)
    with pytest.raises(Archived):
        await scene.room.say_presence(scene.low, scene.project.id, Doing.THERE)


async def test_without_the_scope_nothing_is_done() -> None:
    scene = await a_scene()
    nobody = replace(scene.low, scopes=frozenset())

    with pytest.raises(NotPermitted):
        await scene.room.say_presence(nobody, scene.project.id, Doing.THERE)
    with pytest.raises(NotPermitted):
        await scene.room.list_presence(nobody, scene.project.id)
