"""A sure suggestion through the real lane: its read is made before it is run, and made once."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

from portico.gateway.core.inferred_schema import ToolPlace
from portico.kernel.ids import SpaceId
from portico.kernel.principal import Principal
from portico.learning.core.intents import Calibration
from portico.learning.core.prefetch_gates import PrefetchLimits
from portico.learning.core.suggestions import Mode, Suggestion, words
from tests.learning.suggest.suggest_room import ANOTHER, SuggestRoom

HERE = "/notes/b.md"


@pytest.fixture
async def room() -> AsyncIterator[SuggestRoom]:
    """Where every suggestion is sure, and every read is worth its while."""
    room = SuggestRoom(ahead=PrefetchLimits(least_gain=timedelta(0), keep=timedelta(seconds=60)))
    made = room.http.suggest.suggest_workflow
    room.suggest_workflow = replace(made, calibration=Calibration(slope=0.0, start=5.0))
    await room.learnt()
    [(space, server)] = room.world.servers
    _take_a_while(room, space, ToolPlace(server, "read"))
    lane = asyncio.create_task(room.gateway.running_ahead.executor.run())
    await asyncio.sleep(0)
    yield room
    lane.cancel()
    with pytest.raises(asyncio.CancelledError):
        await lane


def _take_a_while(room: SuggestRoom, space: SpaceId, place: ToolPlace) -> None:
    for _ in range(3):
        room.gateway.running_ahead.executor.paces.note(space, place, timedelta(seconds=1))


async def read_ahead(room: SuggestRoom, times: int = 1) -> None:
    async with asyncio.timeout(30):
        while room.made[f"read {HERE}"] < times:  # noqa: ASYNC110 # a server says nothing to us
            await asyncio.sleep(0.001)


async def sure(room: SuggestRoom, by: Principal | None = None) -> Suggestion:
    made = await room.suggested(ANOTHER, by)
    assert made.mode is Mode.RAN_AHEAD, made.as_json()
    return made


@pytest.mark.requirement("seed001:09")
@pytest.mark.requirement("ahead:writes:staged")
async def test_what_is_read_ahead_is_served_to_the_plan_and_read_once(room: SuggestRoom) -> None:
    made = await sure(room)
    await read_ahead(room)
    before = dict(room.writes)
    run = await room.run_of(made)

    assert before.get(f"write {HERE}", 0) == 0
    assert (await room.show(run)).status == "done"
    assert (room.made[f"read {HERE}"], room.made[f"write {HERE}"]) == (1, 1)


async def test_nothing_of_what_was_read_is_in_the_answer(room: SuggestRoom) -> None:
    made = await sure(room)
    await read_ahead(room)

    assert '"did"' not in json.dumps(made.as_json()) + words(made)
