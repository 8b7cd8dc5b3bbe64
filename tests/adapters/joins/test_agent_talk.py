"""What is said in a run, while it is said and afterwards."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from portico.adapters.joins import agent_talk
from portico.agents.core.happening import (
    TextAdded,
    ThoughtAdded,
    Told,
    ToolBegan,
    ToolEnded,
    TurnBegan,
)
from portico.engine.core.errors import BadCursor
from portico.engine.watch import WatchTopics
from portico.kernel.ids import RunId
from portico.kernel.label import Label, Level
from portico.testing.agents import says
from tests.agents.town import ANA, Town

TEAM = Label(Level.TEAM)
NEXT = TurnBegan(turn=2, model="m")


@asynccontextmanager
async def heard(town: Town, run: RunId) -> AsyncIterator["asyncio.Queue[Told]"]:
    """What is told of a run from now on, as it comes."""
    told: asyncio.Queue[Told] = asyncio.Queue()

    async def listen() -> None:
        async for each in town.talk.follow(ANA, run, after=None):
            told.put_nowait(each)

    async with asyncio.TaskGroup() as group:
        listening = group.create_task(listen())
        await town.talk.tell(ANA, run, TurnBegan(turn=1, model="m"), label=TEAM)
        await told.get()
        yield told
        listening.cancel()


async def test_what_is_said_is_heard_live_and_kept() -> None:
    town = Town()
    run = (await town.begin()).run

    async with heard(town, run) as told:
        async with town.talk.speaking(ANA, run, turn=1, attempt=1, label=TEAM) as speaking:
            speaking.add("Good ")
            live = await told.get()
            speaking.think("Hm.")
            thought = await told.get()
            speaking.add("day.")
        await town.talk.tell(ANA, run, NEXT, label=TEAM)
        rest = [(await told.get()).happening]
        while rest[-1] != NEXT:
            rest.append((await told.get()).happening)

    assert live == Told(TextAdded(turn=1, attempt=1, offset=0, text="Good "), None)
    assert thought == Told(ThoughtAdded(turn=1, attempt=1, offset=0, text="Hm."), None)
    assert TextAdded(turn=1, attempt=1, offset=0, text="Good day.") in rest


async def test_whoever_comes_later_has_it_from_what_is_kept() -> None:
    town = Town()
    run = (await town.begin()).run
    async with town.talk.speaking(ANA, run, turn=1, attempt=1, label=TEAM) as speaking:
        speaking.think("Hm.")
        speaking.add("Good day.")
    await town.talk.tell(ANA, run, NEXT, label=TEAM)
    await town.runs.cancel(ANA, run)

    told = [each.happening async for each in town.talk.follow(ANA, run, after=None)]

    assert ThoughtAdded(turn=1, attempt=1, offset=0, text="Hm.") in told
    assert TextAdded(turn=1, attempt=1, offset=0, text="Good day.") in told
    assert told[-1] == NEXT


async def test_a_cursor_of_elsewhere_is_refused() -> None:
    town = Town()
    run = (await town.begin()).run

    with pytest.raises(BadCursor):
        _ = [each async for each in town.talk.follow(ANA, run, after="AAAA")]


async def test_nobody_watches_it_by_its_name() -> None:
    town = Town()
    run = (await town.begin()).run

    assert WatchTopics(seal=town.talk.seal)(ANA, [f"~talk:{run}"], None) == {}


async def test_what_no_database_holds_is_marked_as_unknown_and_told_all_the_same() -> None:
    town = Town()
    run = (await town.begin()).run
    odd = ToolBegan(turn=1, call="c\0", tool="find\ud800", arguments={"\0": ["a\0b", {"c": 1}]})
    async with town.talk.speaking(ANA, run, turn=1, attempt=1, label=TEAM) as speaking:
        speaking.add("half \ud800 and \0")
    await town.talk.tell(ANA, run, odd, label=TEAM)
    await town.runs.cancel(ANA, run)

    told = [each.happening async for each in town.talk.follow(ANA, run, after=None)]

    assert TextAdded(turn=1, attempt=1, offset=0, text="half ? and \ufffd") in told
    assert told[-1] == ToolBegan(
        turn=1, call="c\ufffd", tool="find?", arguments={"\ufffd": ["a\ufffdb", {"c": 1}]}
    )


async def test_it_is_known_of_which_calls_it_was_told_that_they_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(agent_talk, "_PAGE", 2)
    town = Town()
    run, other = (await town.begin()).run, (await town.begin()).run
    nothing = await town.talk.ended_calls(ANA, run)
    for number in range(5):
        call = f"c{number}"
        ended = ToolEnded(turn=1, call=call, tool="t", text="", failed=False, seconds=0.0)
        began = ToolBegan(turn=1, call=f"{call} began", tool="t", arguments={})
        await town.talk.tell(ANA, run, began, ended, label=TEAM)
        await town.talk.tell(ANA, other, replace(ended, call="another's"), label=TEAM)

    assert nothing == set()
    assert await town.talk.ended_calls(ANA, run) == {"c0", "c1", "c2", "c3", "c4"}


async def test_whoever_knows_an_end_can_ask_whether_it_went_on() -> None:
    town = Town(says("Good day."))
    run = (await town.ran_agent()).run.run
    told = [each async for each in town.follow(ANA, run)]
    cursors = [each.cursor for each in told if each.cursor is not None]

    assert await town.talk.went_on(ANA, run, after=cursors[0])
    assert not await town.talk.went_on(ANA, run, after=cursors[-1])
