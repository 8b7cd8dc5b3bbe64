"""Whoever waits for a debate hears how it ended, or how it stands when their patience is over."""

import asyncio
from datetime import timedelta

import pytest

from portico.debate.core.debate import DebateId, DebateStatus
from portico.debate.core.errors import DebateNotFound
from portico.debate.core.wish import DebateWish
from portico.debate.wait_for_debate import WaitForDebate
from tests.debate.room import ANA, BEN, Room, some

LONG = timedelta(seconds=20)


def waiting(room: Room) -> WaitForDebate:
    return WaitForDebate(look=room.look, follow_debate=room.follow)


async def test_what_is_over_is_told_at_once() -> None:
    room = Room(*some("alpha:one", "beta:two"))
    whole = await room.held()

    now = await waiting(room)(ANA, whole.debate.id, patience=LONG)

    assert now.status is DebateStatus.DECIDED


async def test_whoever_has_no_patience_hears_how_it_stands() -> None:
    room = Room(*some("alpha:one", "beta:two"))
    begun = (await room.start(ANA, DebateWish(question="Is it so?"))).debate

    now = await waiting(room)(ANA, begun.id, patience=timedelta(0))

    assert now.status is DebateStatus.RUNNING


async def test_whoever_waits_is_told_when_it_ends() -> None:
    room = Room(*some("alpha:one", "beta:two"))
    begun = (await room.start(ANA, DebateWish(question="Is it so?"))).debate

    async with asyncio.TaskGroup() as group:
        waits = group.create_task(waiting(room)(ANA, begun.id, patience=LONG))
        await asyncio.sleep(0)
        await room.leg(begun)

    assert waits.result().status is DebateStatus.DECIDED


async def test_patience_ends_before_what_goes_on() -> None:
    room = Room(*some("alpha:one", "beta:two"))
    begun = (await room.start(ANA, DebateWish(question="Is it so?"))).debate

    now = await waiting(room)(ANA, begun.id, patience=timedelta(milliseconds=20))

    assert now.status is DebateStatus.RUNNING


async def test_nobody_waits_for_what_they_may_not_read() -> None:
    room = Room(*some("alpha:one", "beta:two"))
    whole = await room.held()

    for which in (whole.debate.id, DebateId.of_digest(b"nowhere")):
        with pytest.raises(DebateNotFound):
            await waiting(room)(BEN, which, patience=LONG)
