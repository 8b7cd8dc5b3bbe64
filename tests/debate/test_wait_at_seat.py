"""A guest sits at the table until something is asked there."""

import asyncio
from datetime import timedelta

from portico.debate.core.debate import Debate
from portico.debate.core.wish import DebateWish
from portico.debate.wait_at_seat import WaitAtSeat
from tests.debate.room import ANA, BEN, Room, some

LONG = timedelta(seconds=20)


def waiting(room: Room) -> WaitAtSeat:
    return WaitAtSeat(join_debate=room.join, bus=room.bus, at_first=timedelta(milliseconds=100))


async def begun(room: Room) -> Debate:
    wish = DebateWish(question="Is it so?", guests=1)
    return (await room.start(ANA, wish)).debate


async def test_whoever_has_no_patience_hears_that_nothing_is_asked() -> None:
    room = Room(*some("alpha:one"))
    debate = await begun(room)

    seat = await waiting(room)(BEN, debate.id, patience=timedelta(0))

    assert (seat.voice, seat.asked, seat.over) == ("guest:ben", None, False)


async def test_patience_ends_where_nothing_is_asked() -> None:
    room = Room(*some("alpha:one"))
    debate = await begun(room)

    seat = await waiting(room)(BEN, debate.id, patience=timedelta(milliseconds=150))

    assert seat.asked is None


async def test_whoever_waits_is_told_what_is_asked() -> None:
    room = Room(*some("alpha:one"))
    debate = await begun(room)

    async with asyncio.TaskGroup() as group:
        waits = group.create_task(waiting(room)(BEN, debate.id, patience=LONG))
        await asyncio.sleep(0)
        await room.leg(debate)

    assert "Is it so?" in (waits.result().asked or "")


async def test_whoever_sits_down_is_told_at_once_what_is_asked_also_without_patience() -> None:
    room = Room(*some("alpha:one"))
    debate = await begun(room)
    sitting = WaitAtSeat(join_debate=room.join, bus=room.bus)

    async with asyncio.TaskGroup() as group:
        sits = group.create_task(sitting(BEN, debate.id, patience=timedelta(0)))
        await asyncio.sleep(0)
        await room.leg(debate)

    assert "Is it so?" in (sits.result().asked or "")
    assert sits.result().new is False  # looked at again since
