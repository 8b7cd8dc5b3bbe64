"""Who may call at the same time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from portico.adapters.mcp.turns import Turns


class Room:
    """Notes who is in it together."""

    def __init__(self) -> None:
        self.turns = Turns()
        self.inside: list[str] = []
        self.seen: list[tuple[str, ...]] = []

    async def visit(self, name: str, *, alone: bool) -> None:
        async with self._turn(alone=alone):
            self.inside.append(name)
            self.seen.append(tuple(self.inside))
            await asyncio.sleep(0.01)
            self.inside.remove(name)

    @asynccontextmanager
    async def _turn(self, *, alone: bool) -> AsyncIterator[None]:
        await self.turns.take(alone=alone)
        try:
            yield
        finally:
            self.turns.give(alone=alone)


async def test_who_need_not_be_alone_is_in_together() -> None:
    room = Room()

    await asyncio.gather(*(room.visit(name, alone=False) for name in "abc"))

    assert room.seen[-1] == ("a", "b", "c")


async def test_who_must_be_alone_is_and_nobody_is_kept_out_for_ever() -> None:
    room = Room()

    await asyncio.gather(
        room.visit("a", alone=False),
        room.visit("B", alone=True),
        room.visit("c", alone=False),
        room.visit("D", alone=True),
        room.visit("e", alone=False),
    )

    assert room.seen == [("a",), ("B",), ("c",), ("D",), ("e",)]


@pytest.mark.parametrize("leaving", ["B", "c"])
async def test_who_goes_away_while_waiting_holds_nobody_up(leaving: str) -> None:
    room = Room()
    visits = {
        name: asyncio.ensure_future(room.visit(name, alone=name.isupper())) for name in "aBcD"
    }
    await asyncio.sleep(0)
    visits[leaving].cancel()

    outcomes = await asyncio.gather(*visits.values(), return_exceptions=True)

    assert sum(isinstance(outcome, BaseException) for outcome in outcomes) == 1
    assert {name for group in room.seen for name in group} == set("aBcD") - {leaving}


async def test_a_turn_that_came_at_the_moment_of_going_away_is_given_on() -> None:
    turns = Turns()
    await turns.take(alone=True)
    second = asyncio.ensure_future(turns.take(alone=True))
    third = asyncio.ensure_future(turns.take(alone=True))
    await asyncio.sleep(0)

    turns.give(alone=True)
    second.cancel()

    await third
    assert second.cancelled()
