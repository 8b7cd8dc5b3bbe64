"""What was read ahead of time is served to whoever asks for exactly that, and to nobody else."""

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest

from portico.engine.core.errors import StoreUnavailable
from portico.gateway.core.calls import Called, ClientCapability, Question, ToolResult
from portico.gateway.core.catalog_snapshot import Tool
from portico.gateway.core.errors import (
    InputUnsupported,
    ToolQuarantined,
    UpstreamDown,
    UpstreamTimedOut,
)
from portico.gateway.core.reserved_metadata import AHEAD
from portico.gateway.core.servers import Http
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject
from portico.kernel.label import Label, Level
from portico.learning.core.prefetch import WasteReason
from portico.learning.core.prefetch_cache import Paces
from portico.learning.core.prefetch_gates import (
    PrefetchLimits,
    PrefetchMode,
    ServerSwitch,
    SpaceSwitches,
    Unsettled,
)
from portico.learning.prefetch_cache import NullChannel
from portico.testing.gateway import a_tool, text
from portico.testing.gateway_fakes import ANYTHING
from portico.testing.guard import MemoryRules
from portico.workflows.core.saved import Admission
from tests.gateway.open_room import ANA, DELETE, READ, VIEWER, WEATHER, WRITE
from tests.learning.prefetch.ahead_room import LIST, AheadRoom


@pytest.fixture
def room() -> AheadRoom:
    room = AheadRoom(rules=MemoryRules([ANYTHING]))
    room.upstreams.replies[READ.ref] = lambda given: text(f"read {given['path']}")
    return room


def paths(room: AheadRoom) -> list[object]:
    return [given.get("path") for _, given in room.upstreams.called]


async def test_what_was_read_ahead_is_served_once_and_the_same_but_its_age(room: AheadRoom) -> None:
    async with room.running():
        await room.ahead(room.wanted())
        room.seconds += 1.5

        served, made = await room.asked(), await room.asked()

    assert paths(room) == ["a", "a"]
    assert served.answer == replace(made.answer, meta={AHEAD: {"age_ms": 1500}})
    assert made.answer == text("read a")
    assert (room.meter.tries, room.meter.hits, room.meter.waste) == (1, 1, [])


async def test_nobody_else_is_served_and_nothing_else(room: AheadRoom) -> None:
    async with room.running():
        await room.ahead(room.wanted())

        others = [await room.asked(caller=VIEWER), await room.asked("b")]
        others.append(await room.asked(caller=replace(ANA, key="another")))
        served = await room.asked()

    assert [each.answer.meta for each in others] == [None, None, None]
    assert paths(room) == ["a", "a", "b", "a"]
    assert served.answer.meta is not None


async def under_way(room: AheadRoom) -> None:
    """A read ahead hangs."""
    room.upstreams.hang("files")
    await room.run_ahead.these(ANA, [room.wanted()])
    await room.until(lambda: bool(room.upstreams.called))


async def joined(room: AheadRoom) -> asyncio.Future[Called]:
    """Somebody asks for what is under way, and waits for it with whoever began it."""
    await under_way(room)
    asking = asyncio.ensure_future(room.asked())
    await room.until(lambda: not room.lane.buffer)
    return asking


async def test_whoever_joins_has_their_own_patience_and_no_more(room: AheadRoom) -> None:
    room.at_most(timedelta(milliseconds=5))
    async with room.running():
        room.upstreams.hang("files")
        await room.run_ahead.these(ANA, [room.wanted()])
        call = replace(room.call, timeout=timedelta(milliseconds=60))

        with pytest.raises(UpstreamTimedOut):
            await call(ANA, READ.ref, {"path": "a"})

        assert not room.lane.under_way
    assert paths(room) == ["a"]


async def test_one_that_is_under_way_is_joined_and_not_made_twice(room: AheadRoom) -> None:
    async with room.running():
        asking = await joined(room)
        room.upstreams.release("files")

        answer = (await asking).answer

    assert answer.meta is not None
    assert paths(room) == ["a"]


async def test_one_that_breaks_off_is_made_by_whoever_has_joined_it(room: AheadRoom) -> None:
    async with room.running():
        room.upstreams.replies[READ.ref] = [UpstreamDown("files", "it ended"), text("again")]
        asking = await joined(room)
        room.upstreams.release("files")

        answer = (await asking).answer

    assert answer == text("again")
    assert paths(room) == ["a", "a"]
    assert room.meter.waste == [WasteReason.FAILED]


async def test_whoever_goes_away_takes_the_call_that_they_joined_along(room: AheadRoom) -> None:
    async with room.running():
        asking = await joined(room)

        asking.cancel()
        await asyncio.wait([asking])
        await room.landed()

        assert asking.cancelled()
        assert (len(room.lane.buffer), room.lane.under_way) == (0, 0)
        assert room.use_of("files").at_once == 0


async def test_it_takes_no_longer_than_it_may(room: AheadRoom) -> None:
    room.at_most(timedelta(milliseconds=1))
    async with room.running():
        room.upstreams.hang("files")
        await room.ahead(room.wanted())

        assert len(room.lane.buffer) == 0
    assert room.meter.waste == [WasteReason.CANCELLED]


async def test_it_waits_for_a_short_while_only(room: AheadRoom) -> None:
    async with room.running():
        await room.ahead(room.wanted())
        await room.ahead(room.wanted(path="b"))
        room.seconds += 9.9
        room.lane.sweep()
        served = await room.asked()
        room.seconds += 0.1
        made = await room.asked("b")
        room.lane.sweep()

        assert len(room.lane.buffer) == 0
    assert (served.answer.meta is None, made.answer.meta is None) == (False, True)
    assert room.meter.waste == [WasteReason.EXPIRED]


async def test_what_was_read_before_a_change_is_not_served_after_it(room: AheadRoom) -> None:
    other = replace(ANA, id=VIEWER.id, name="vera")
    async with room.running():
        for writer in (ANA, other):
            await room.ahead(room.wanted())
            assert len(room.lane.buffer) == 1
            await room.call(writer, WRITE.ref, {"path": "a"})
            assert len(room.lane.buffer) == 0

            assert (await room.asked()).answer.meta is None
    assert room.meter.waste == [WasteReason.CHANGED, WasteReason.CHANGED]


@pytest.mark.parametrize("here", [True, False])
async def test_what_somebody_else_changes_at_another_server_counts_if_both_run_here(
    room: AheadRoom, *, here: bool
) -> None:
    place, sky = room._server("sky")
    if not here:
        room.world.servers[place] = replace(sky, launch=Http("https://sky.example"))
    room.world.tools[place] = [
        WEATHER,
        book := a_tool("sky.book", "Books a trip.", effect=Effect.LOCAL_WRITE),
    ]
    other = replace(ANA, id=VIEWER.id, name="vera")
    async with room.running():
        await room.ahead(room.wanted())
        await room.call(other, book.ref, {"path": "a"})
        assert len(room.lane.buffer) == (0 if here else 1)

        await room.call(ANA, book.ref, {"path": "a"})

        assert len(room.lane.buffer) == 0  # the same principal may have changed it through another


async def test_a_change_while_it_is_read_dooms_it(room: AheadRoom) -> None:
    async with room.running():
        await under_way(room)
        writing = asyncio.ensure_future(room.call(ANA, WRITE.ref, {"path": "a"}))
        await room.landed()

        assert len(room.lane.buffer) == 0
        room.upstreams.release("files")
        await writing
        assert (await room.asked()).answer.meta is None
    assert room.meter.waste == [WasteReason.CHANGED]


async def test_nothing_is_read_while_something_is_changed(room: AheadRoom) -> None:
    async with room.running():
        room.upstreams.hang("files")
        writing = asyncio.ensure_future(room.call(ANA, WRITE.ref, {"path": "a"}))
        await room.until(lambda: bool(room.upstreams.called))

        assert await room.run_ahead.these(ANA, [room.wanted()]) == []
        room.upstreams.release("files")
        await writing
        assert await room.run_ahead.these(ANA, [room.wanted()]) != []
    assert room.closed == [("files.read", "settled")]


async def test_nothing_is_read_for_a_while_after_an_unsettled_change(room: AheadRoom) -> None:
    room.upstreams.replies[WRITE.ref] = UpstreamDown("files", "it ended", reached=True)
    async with room.running():
        with pytest.raises(UpstreamDown):
            await room.call(ANA, WRITE.ref, {"path": "a"})

        await room.run_ahead.these(ANA, [room.wanted()])
        room.seconds += 60
        await room.ahead(room.wanted())

        assert len(room.lane.buffer) == 1
    assert room.closed == [("files.read", "settled")]


async def away() -> None:
    raise StoreUnavailable("no database")


@pytest.mark.parametrize("claimed", ["changed elsewhere", "nobody can be asked", "changed here"])
async def test_what_is_not_known_to_be_true_still_is_a_call_of_its_own(
    room: AheadRoom, claimed: str
) -> None:
    write = partial(room.call, ANA, WRITE.ref, {"path": "a"})
    async with room.running():
        await room.ahead(room.wanted())
        room.elsewhere.changed = claimed == "changed elsewhere"
        if not room.elsewhere.changed:
            room.elsewhere.meanwhile = write if claimed == "changed here" else away

        assert (await room.asked()).answer == text("read a")
    between = ["files.write"] if claimed == "changed here" else []
    called = [str(ref) for ref, _ in room.upstreams.called]
    assert called == ["files.read", *between, "files.read"]
    assert room.meter.waste == [WasteReason.CHANGED]


@pytest.mark.parametrize("whole", [True, False])
async def test_what_is_switched_off_just_before_it_is_sent_is_not_sent(
    room: AheadRoom, *, whole: bool
) -> None:
    async with room.running():
        await room.run_ahead.these(ANA, [room.wanted()])
        if whole:
            await room.switch(SpaceSwitches(mode=PrefetchMode.SHADOW))
        else:
            await room.use.switch_server(ANA, "files", enabled=False)
        await room.landed()

        assert len(room.lane.buffer) == 0
    assert (room.upstreams.called, room.meter.tries) == ([], 0)


async def test_a_tool_that_changes_while_it_is_called_is_not_served(room: AheadRoom) -> None:
    changed = replace(a_tool("files.read", "Other."), accepted_pin=READ.pin)

    def change(_given: JsonObject) -> ToolResult:
        room.replace(changed, WRITE, DELETE, LIST)
        return text("read it")

    room.upstreams.replies[READ.ref] = change
    async with room.running():
        await room.ahead(room.wanted())

        assert len(room.lane.buffer) == 0
    assert room.meter.waste == [WasteReason.CHANGED]


async def test_a_tool_that_changes_before_it_is_called_is_not_called(room: AheadRoom) -> None:
    accepted = a_tool("files.read", "Reads otherwise.", effect=Effect.LOCAL_READ)
    async with room.running():
        wanted = room.wanted()
        room.replace(accepted, WRITE, DELETE, LIST)
        await room.ahead(wanted)

    assert room.closed == [("files.read", "pinned_as_foretold")]
    assert room.upstreams.called == []


async def test_a_tool_that_changes_while_its_answer_waits_is_not_served(room: AheadRoom) -> None:
    async with room.running():
        await room.ahead(room.wanted())
        room.replace(replace(a_tool("files.read", "Other."), accepted_pin=READ.pin))

        with pytest.raises(ToolQuarantined):
            await room.asked()
    assert paths(room) == ["a"]


async def test_what_a_server_is_labelled_with_meanwhile_counts(room: AheadRoom) -> None:
    async with room.running():
        await room.ahead(room.wanted())
        room.label("files", Label(Level.TEAM))

        made = await room.asked()

    assert made.answer.meta is None
    assert [task.label for task in room.world.contexts.values()] == [Label(Level.TEAM)]


async def test_the_kill_switch_ends_what_is_under_way_and_what_waits(room: AheadRoom) -> None:
    async with room.running():
        await room.ahead(room.wanted())
        room.upstreams.hang("files")
        await room.run_ahead.these(ANA, [room.wanted(path="b")])
        await room.until(lambda: len(room.upstreams.called) == 2)

        await room.switch(SpaceSwitches(mode=PrefetchMode.OFF))
        room.lane.switched(ANA.space, await room.board.current(ANA))
        await room.landed()

        assert (len(room.lane.buffer), room.lane.spaces) == (0, set())
        room.upstreams.release("files")
        assert await room.run_ahead.these(ANA, [room.wanted()]) == []
    assert room.meter.waste == [WasteReason.SWITCHED, WasteReason.SWITCHED]
    assert room.closed == [("files.read", "switched_on")]


async def test_who_has_not_heard_of_the_switch_yet_looks_before_serving(room: AheadRoom) -> None:
    _, server = room._server("files")
    async with room.running():
        await room.ahead(room.wanted())
        await room.switch(SpaceSwitches(servers={server.id: ServerSwitch(PrefetchMode.SHADOW)}))

        assert (await room.asked()).answer.meta is None


@pytest.mark.parametrize(
    "answer",
    [
        text("no such file", failed=True),
        Admission({}, {}).answer,
        text("x" * 2_000_001),
    ],
)
async def test_what_is_no_answer_for_a_caller_is_thrown_away(
    room: AheadRoom, answer: ToolResult
) -> None:
    room.upstreams.replies[READ.ref] = answer
    async with room.running():
        await room.ahead(room.wanted())

        assert len(room.lane.buffer) == 0
        assert len(room.meter.waste) == 1


async def test_a_server_that_wants_to_ask_its_caller_is_not_answered_and_not_believed() -> None:
    line = NullChannel("files.read")

    with pytest.raises(InputUnsupported):
        await line.ask(Question(ClientCapability.ELICITATION, {}))
    await line.progress(1, 2, "half")
    await line.log({})

    assert line.asked
    assert (line.able, line.log_level) == (frozenset(ClientCapability), None)


async def test_a_mark_that_a_server_puts_on_its_own_answer_is_taken_off(room: AheadRoom) -> None:
    room.upstreams.replies[READ.ref] = replace(text("x"), meta={AHEAD: {"age_ms": 1}})
    async with room.running():
        assert (await room.asked()).answer.meta is None


async def test_of_what_nobody_asks_for_only_that_it_was_allowed_is_known(room: AheadRoom) -> None:
    canary = "CANARY-7711"
    room.upstreams.replies[READ.ref] = ToolResult([], structured={"id": canary})
    async with room.running():
        history = len(await room.use.list_calls(ANA))
        await room.ahead(room.wanted())
        await room.watching.work_through()
        await room.gateway.observations.flush()

        assert len(await room.use.list_calls(ANA)) == history
        assert canary not in repr(vars(room.world))
        assert room.script.seen == []
        act = room.acts[-1]
        assert (act["action"], "ahead" in str(act["facts"])) == ("call.allowed", True)


async def test_a_process_that_ends_leaves_nothing_behind(room: AheadRoom) -> None:
    async with room.running():
        await room.ahead(room.wanted())
        room.upstreams.hang("files")
        await room.run_ahead.these(ANA, [room.wanted(path="b")])
        await room.until(lambda: len(room.upstreams.called) == 2)

    assert (len(room.lane.buffer), room.lane.under_way) == (0, 0)
    assert room.meter.waste == [WasteReason.CANCELLED, WasteReason.CANCELLED]
    assert await room.run_ahead.these(ANA, [room.wanted()]) == []


async def test_one_that_is_called_off_at_once_leaves_nothing_behind(room: AheadRoom) -> None:
    async with room.running():
        await room.run_ahead.these(ANA, [room.wanted()])
        room.lane.drop(lambda _: True, WasteReason.CANCELLED)
        await room.landed()

        assert len(room.lane.buffer) == 0
        assert room.use_of("files").at_once == 0
    assert room.upstreams.called == []
    assert room.meter.tries == 0


async def test_whoever_really_asks_does_not_wait_behind_what_nobody_asked(room: AheadRoom) -> None:
    async with room.running():
        await under_way(room)
        asking = asyncio.ensure_future(room.asked("something else"))
        await room.landed()
        room.upstreams.release("files")

        assert (await asking).answer == text("read something else")
    assert room.meter.waste == [WasteReason.CANCELLED]


async def test_a_bound_on_what_is_under_way_is_never_passed() -> None:
    room = AheadRoom(PrefetchLimits(calls_a_minute=1))
    async with room.running():
        await room.ahead(room.wanted(), room.wanted(path="b"))

    assert paths(room) == ["a"]
    assert room.closed == [("files.read", "not_in_the_way")]


MOMENTS = range(20)


async def gone_after(moments: int, work: Coroutine[object, object, object]) -> None:
    task = asyncio.ensure_future(work)
    for _ in range(moments):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])


async def settled(room: AheadRoom) -> None:
    await room.landed()
    assert (room.lane._claiming, room.use_of("files").at_once) == (set(), 0)
    assert not room.lane.unsettled._under_way


@pytest.mark.parametrize("tool", [READ, WRITE])
@pytest.mark.parametrize("held_up", [False, True])
async def test_a_caller_may_go_away_at_any_moment(tool: Tool, *, held_up: bool) -> None:
    room = AheadRoom(rules=MemoryRules([ANYTHING]))
    room.upstreams.replies[READ.ref] = lambda given: text(f"read {given['path']}")
    async with room.running():
        for moments in MOMENTS:
            path = f"p{moments}"
            room.seconds += 61  # so that what nobody knows the end of has come to rest
            room.lane.paces = Paces()
            room.slow(READ)
            if held_up:
                room.upstreams.hang("files")
            await room.run_ahead.these(ANA, [room.wanted(path=path)])
            if not held_up:
                await room.landed()

            await gone_after(moments, room.asked(path, tool=tool))

            if held_up:
                room.upstreams.release("files")
            await settled(room)
            assert (await room.asked(path)).answer.content == text(f"read {path}").content
    assert room.closed == []


async def test_whoever_begins_one_may_go_away_at_any_moment() -> None:
    room = AheadRoom()
    async with room.running():
        for moments in MOMENTS:
            room.seconds += 61
            wanted = room.wanted(path=f"p{moments}")

            await gone_after(moments, room.run_ahead.these(ANA, [wanted]))

            await settled(room)


async def test_the_worker_may_go_away_at_any_moment() -> None:
    room = AheadRoom()
    room.script.next = lambda last: (
        [] if last is None else [room.foretold(READ, {"path": f"{last.arguments['path']}x"})]
    )
    async with room.running():
        for moments in MOMENTS:
            room.seconds += 61
            await room.asked(f"p{moments}")

            await gone_after(moments, room.watching.work_through())

            await settled(room)
        await room.watching.work_through()
    assert room.lane.unsettled == Unsettled()
