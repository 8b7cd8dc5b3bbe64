"""What callers do is worked through beside their calls: in order, within bounds, or not at all."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from portico.gateway.core.catalog_snapshot import Tool
from portico.guard.core.access_request import Act
from portico.kernel.ids import ContextId
from portico.kernel.json import JsonObject
from portico.learning.core.prefetch.fair_effort import FairEffort
from portico.learning.core.prefetch.paces import Paces
from portico.learning.core.prefetch.predicted import Predicted
from portico.learning.core.prefetch.switches import AheadMode, SpaceSwitches
from portico.learning.core.prefetch.terms import AheadTerms
from portico.learning.core.prefetch.trust_in_all import PROVEN_FOR_CALLER, TrustInAll
from portico.learning.core.prefetch.window import SeenCall
from portico.testing.gateway import text
from portico.testing.gateway_fakes import ANYTHING
from portico.testing.guard import MemoryRules, a_person
from portico.testing.memory_store import BEGINNING, KnownContext, SeededEntropy
from tests.gateway.open_room import ANA, READ, VIEWER, WRITE
from tests.learning.core.prefetch.attempts import AIM
from tests.learning.prefetch.ahead_room import LIST, AheadRoom


@pytest.fixture
def room() -> AheadRoom:
    room = AheadRoom(rules=MemoryRules([ANYTHING]))
    room.upstreams.replies[READ.ref] = lambda given: text(f"read {given['path']}")
    return room


async def listed(room: AheadRoom) -> None:
    """And worked through."""
    await room.asked("/", tool=LIST)
    await room.watching.work_through()


def then(room: AheadRoom, tool: Tool, given: JsonObject, *, live: bool = True) -> None:
    """After every list, this is foretold."""

    def foretell(last: SeenCall | None) -> Sequence[Predicted]:
        listed = last is not None and last.tool == room.place(LIST)
        return [room.foretold(tool, given, live=live)] if listed else []

    room.script.next = foretell


async def test_after_a_call_what_comes_next_is_there_when_it_is_asked_for(room: AheadRoom) -> None:
    then(room, READ, {"path": "a"})
    async with room.running():
        await listed(room)
        await room.landed()

        assert (await room.asked("a")).answer.meta is not None
        await room.watching.work_through()
    assert [str(ref) for ref, _ in room.upstreams.called] == ["files.list", "files.read"]
    assert [call.tool.tool for call in room.script.seen] == ["list", "read"]
    assert (room.meter.calls, room.meter.predictions, room.meter.hits) == (2, 1, 1)


async def test_it_goes_on_by_itself_while_the_process_runs(room: AheadRoom) -> None:
    then(room, READ, {"path": "a"})
    async with room.running(), asyncio.TaskGroup() as group:
        working = group.create_task(room.watching.run())
        await room.asked("/", tool=LIST)
        await room.until(lambda: len(room.upstreams.called) == 2)
        await room.landed()

        assert (await room.asked("a")).answer.meta is not None
        working.cancel()


async def test_what_has_not_proved_right_is_foretold_and_not_made(room: AheadRoom) -> None:
    then(room, READ, {"path": "a"}, live=False)
    async with room.running():
        await listed(room)

    assert len(room.upstreams.called) == 1
    assert room.meter.predictions == 1


@pytest.mark.parametrize(
    ("mode", "foretold"), [(AheadMode.SHADOW, 1), (AheadMode.OFF, 0), (AheadMode.LIVE, 1)]
)
async def test_the_space_says_whether_anything_is_foretold_or_made(
    room: AheadRoom, mode: AheadMode, foretold: int
) -> None:
    then(room, READ, {"path": "a"})
    await room.switch(SpaceSwitches(mode=mode))
    async with room.running():
        await listed(room)
        await room.landed()

    assert room.meter.predictions == foretold
    assert len(room.upstreams.called) == (2 if mode is AheadMode.LIVE else 1)


async def test_where_nothing_may_be_learnt_nothing_is_noted(room: AheadRoom) -> None:
    await room.switch(SpaceSwitches(learning=False))
    async with room.running():
        await room.asked("/", tool=LIST)
        room.watching.say(ANA, "where is the file")
        await room.watching.work_through()

    assert (room.script.seen, room.script.said) == ([], [])


async def test_what_changes_something_is_never_foretold(room: AheadRoom) -> None:
    then(room, WRITE, {"path": "a"})
    async with room.running():
        await listed(room)

    assert room.meter.predictions == 0


async def test_what_somebody_says_is_heard_in_its_place(room: AheadRoom) -> None:
    room.watching.say(ANA, "")
    room.watching.say(ANA, "list the files", "of this folder")
    await room.watching.work_through()

    assert room.script.said == ["list the files", "of this folder"]


async def test_of_what_is_far_too_long_only_that_it_was_is_noted(room: AheadRoom) -> None:
    async with room.running():
        for length in (200_001, 7):
            room.upstreams.replies[READ.ref] = text("x" * length)
            await room.asked("a")
        await room.watching.work_through()

    texts = [[str(pool) for pool in call.places.values()] for call in room.script.seen]
    assert ["xxxxxxx" in str(each) for each in texts] == [False, True]


async def test_a_task_of_which_something_was_missed_begins_anew(room: AheadRoom) -> None:
    room.watching.effort = FairEffort(share=1e9)
    async with room.running():
        await listed(room)
        for _ in range(65):
            await room.asked("/", tool=LIST)
        await room.watching.work_through()
        after_many = room.script.ended
        room.watching.effort = FairEffort(share=0.0, saved=0.0)
        await listed(room)
        room.watching.effort = FairEffort()
        await listed(room)

    assert (after_many, room.script.ended, len(room.script.seen)) == (1, 2, 66)


async def test_so_much_waits_of_all_and_less_of_each(room: AheadRoom) -> None:
    room.watching.effort = FairEffort(share=1e9)
    people = [replace(a_person(f"p{number}"), key="k") for number in range(5)]
    for person in people:
        for number in range(65):
            room.watching.say(person, f"{person.name} {number}")
    await room.watching.work_through()

    said = [f"p{person} {number}" for person in range(4) for number in range(64)]
    assert room.script.said == said


async def test_a_task_that_is_closed_breaks_nothing(room: AheadRoom) -> None:
    task = ContextId.mint(BEGINNING, SeededEntropy("task"))
    room.world.contexts[ANA.space, task] = KnownContext(ANA.id, "a task", BEGINNING)
    ana = replace(ANA, context=task)
    async with room.running():
        await room.asked("/", tool=LIST, caller=ana)
        room.world.contexts[ANA.space, task] = KnownContext(
            ANA.id, "a task", BEGINNING, closed_at=BEGINNING
        )
        await room.watching.work_through()
        await listed(room)

    assert len(room.script.seen) == 1


async def test_what_breaks_is_told_without_anybodys_words(
    room: AheadRoom, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(last: SeenCall | None) -> Sequence[Predicted]:
        raise ValueError(f"CANARY {last}")

    room.script.next = broken
    async with room.running():
        await listed(room)

    assert "ValueError" in caplog.text
    assert "CANARY" not in caplog.text


async def test_a_task_ends_when_nothing_has_happened_for_long(room: AheadRoom) -> None:
    async with room.running():
        await listed(room)
        await room.watching.end_idle()
        still = room.script.ended
        room.clock.turn(timedelta(minutes=11))
        await room.watching.end_idle()
        remembered = len([*room.watching.tasks])
        room.clock.turn(timedelta(minutes=20))
        await room.watching.end_idle()

    assert (still, room.script.ended) == (0, 2)
    assert (remembered, len([*room.watching.tasks])) == (1, 0)


async def test_only_the_latest_tasks_are_remembered_and_the_others_ended(room: AheadRoom) -> None:
    for number in range(103):
        room.watching.say(replace(ANA, key=f"k{number}"), "hello")
        await room.watching.work_through()

    assert room.script.ended == 3


async def test_of_a_call_of_a_run_only_how_long_it_took_is_noted(room: AheadRoom) -> None:
    room.lane.paces = Paces()
    act = Act(caller=ANA, aim=AIM, arguments={"path": "a"})
    for _ in range(3):
        room.watching.note(act, room._server("files")[1], BEGINNING, text("x"), in_run=True)
    await room.watching.work_through()

    assert room.lane.paces.usual(ANA.space, room.place(READ)) is not None
    assert room.script.seen == []


async def test_whose_work_is_not_what_is_foretold_is_not_called_ahead_for(room: AheadRoom) -> None:
    room.watching.trust = TrustInAll()
    room.watching.effort = FairEffort(share=1e9)
    then(room, READ, {"path": "a"})
    other = replace(ANA, id=VIEWER.id, name="vera")
    served: list[bool] = []
    async with room.running():
        for number in range(12):
            await room.asked(f"/{number}", tool=LIST)
            await room.asked(f"/{number}", tool=LIST, caller=other)
            await room.watching.work_through()
            await room.landed()
            served.append((await room.asked("a")).answer.meta is not None)
            room.slow(READ)
            assert (await room.asked("b", caller=other)).answer.meta is None
            await room.watching.work_through()

    assert served == [False] * 10 + [True] * 2
    assert room.meter.tries == 2
    assert {*room.closed} == {("files.read", PROVEN_FOR_CALLER)}


async def test_how_long_a_tool_takes_is_learnt_from_calls_that_somebody_waited_for() -> None:
    room = AheadRoom(AheadTerms(least_gain=timedelta(0)))
    async with room.running():
        for _ in range(3):
            await listed(room)

    usual = room.lane.paces.usual(ANA.space, room.place(LIST))
    assert usual is not None
    assert usual > timedelta(0)


async def test_what_is_looked_for_is_heard(room: AheadRoom) -> None:
    find = replace(room.use.find_tools, observer=room.watching.say)

    await find(ANA, ["read a file", " ", "list a folder"])
    await room.watching.work_through()

    assert room.script.said == ["read a file", "list a folder"]
