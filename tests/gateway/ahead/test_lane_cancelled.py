"""Whoever goes away, and whenever: nothing is left under way, counted, held or unsettled."""

import asyncio
from collections.abc import Coroutine

import pytest

from portico.gateway.core.ahead.paces import Paces
from portico.gateway.core.ahead.unsettled import Unsettled
from portico.gateway.core.tool import Tool
from portico.testing.gateway_doors import ANYTHING
from portico.testing.guard_policy import MemoryRules
from portico.testing.upstreams import text
from tests.gateway.ahead.ahead_room import AheadRoom
from tests.gateway.open_room import ANA, READ, WRITE

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
