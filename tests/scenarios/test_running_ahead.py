"""Calls ahead of time at a real process: served, joined, called off, and not believed for long."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Final

import pytest

from portico.adapters.mcp.pool import UpstreamPool
from portico.adapters.system.clock import SystemClock
from portico.gateway.core.ahead.fair_effort import FairEffort
from portico.gateway.core.ahead.mark import AHEAD
from portico.gateway.core.ahead.predicted import Origin, Source
from portico.gateway.core.ahead.totals import Waste
from portico.gateway.core.ahead.wanted import Wanted
from portico.gateway.core.call import Answer
from portico.gateway.core.learnt import ToolPlace
from portico.gateway.core.server import Era
from portico.gateway.core.tool import Tool
from portico.guard.core.roles import Role
from portico.kernel.effect import Effect
from portico.kernel.ids import ContextId
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal
from portico.main.assemble_gateway import assemble_gateway
from portico.testing.ahead import CountedAhead
from portico.testing.events import MemoryBus
from portico.testing.gateway import a_tool, an_approved_server
from portico.testing.gateway_doors import ANYTHING, memory_gateway
from portico.testing.guard import a_person, a_space, an_identity
from portico.testing.guard_policy import MemoryRules
from portico.testing.kernel import BEGINNING, SeededEntropy
from portico.testing.world import KnownContext, MemoryWorld
from tests.adapters.mcp.pools import a_pool, launched, said, until

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(60)]

ANA: Final = a_person("ana", roles=[Role.OPERATOR])
WORDS: Final = frozenset({Source(Origin.WORDS)})


def _tool(name: str, effect: Effect, *parameters: str) -> Tool:
    properties: JsonObject = {each: {} for each in parameters}
    schema: JsonObject = {"type": "object", "properties": properties}
    return a_tool(f"book.{name}", f"{name} in a notebook.", effect=effect, inputSchema=schema)


OPEN: Final = _tool("open", Effect.LOCAL_READ, "word")
READ: Final = _tool("read", Effect.LOCAL_READ, "page", "seconds")
WRITE: Final = _tool("write", Effect.LOCAL_WRITE, "page", "text")
CONFIDE: Final = _tool("confide", Effect.LOCAL_READ)
MADE: Final = _tool("made", Effect.PURE)


class BookRoom:
    def __init__(self, pool: UpstreamPool) -> None:
        self.world, self.clock = MemoryWorld(), SystemClock()
        self.world.spaces[ANA.space] = a_space()
        identity = an_identity("ana")
        self.world.identities.insert((identity.space, identity.id), identity)
        self.server = replace(
            an_approved_server("book"), launch=launched("notebook"), era=Era.LEGACY
        )
        self.world.servers[ANA.space, self.server.id] = self.server
        self.world.tools[ANA.space, self.server.id] = [OPEN, READ, WRITE, CONFIDE, MADE]
        self.doors = memory_gateway(
            self.world,
            pool,
            bus=MemoryBus(),
            clock=self.clock,
            entropy=SeededEntropy(),
            rules=MemoryRules([ANYTHING]),
        )
        self.gateway = assemble_gateway(self.doors)
        self.ahead = self.gateway.running_ahead
        self.ahead.watching.effort = FairEffort(share=1e9)  # however busy this machine is
        for tool in (OPEN, READ, CONFIDE):
            place = ToolPlace(self.server.id, tool.ref.name)
            for _ in range(3):
                self.ahead.lane.paces.note(ANA.space, place, timedelta(seconds=1))

    @property
    def meter(self) -> CountedAhead:
        meter = self.doors.ahead.meter
        assert isinstance(meter, CountedAhead)
        return meter

    async def call(self, tool: Tool, **given: str | float) -> Answer:
        return await self.called(ANA, tool, given)

    async def called(self, caller: Principal, tool: Tool, given: JsonObject) -> Answer:
        return (await self.gateway.over_http.call_tool(caller, tool.ref, given)).answer

    def at_a_new_task(self, number: int) -> Principal:
        task = ContextId.mint(BEGINNING, SeededEntropy(number))
        known = KnownContext(ANA.id, f"task {number}", BEGINNING)
        self.world.contexts[ANA.space, task] = known
        return replace(ANA, context=task)

    async def thought(self) -> None:
        """What has been done so far is worked through, and what is begun because of it is over."""
        await self.ahead.watching.work_through()
        await self.landed()

    async def made(self) -> str:
        return said(await self.call(MADE))

    async def begin(self, tool: Tool, **given: str | float) -> Sequence[Wanted]:
        sources = dict.fromkeys(given, WORDS)
        wanted = Wanted(ref=tool.ref, pin=tool.pin, arguments=given, sources=sources, proven=True)
        return await self.ahead.run_ahead.these(ANA, [wanted])

    async def landed(self) -> None:
        await until(lambda: not self.ahead.lane.under_way)


@asynccontextmanager
async def a_book() -> AsyncIterator[BookRoom]:
    async with a_pool() as pool, asyncio.TaskGroup() as group:
        room = BookRoom(pool)
        tasks = [group.create_task(each()) for each in room.ahead.lasting.values()]
        await room.made()
        try:
            yield room
        finally:
            for task in tasks:
                task.cancel()


async def test_what_is_there_already_is_given_at_once_and_asked_of_the_server_once() -> None:
    async with a_book() as room:
        assert await room.begin(READ, page="page-0007")
        await room.landed()

        answer, again = (
            await room.call(READ, page="page-0007"),
            await room.call(READ, page="page-0007"),
        )

        assert answer.meta is not None
        assert AHEAD in answer.meta
        assert replace(answer, meta=None) == again
        assert (await room.made()).startswith("read page-0007; read page-0007 |")
    assert (room.meter.tries, room.meter.hits, room.meter.waste) == (1, 1, [])


async def test_a_call_that_is_under_way_is_joined() -> None:
    async with a_book() as room:
        await room.begin(READ, page="page-0007", seconds=0.5)
        await until(lambda: bool(room.meter.tries))

        answer = await room.call(READ, page="page-0007", seconds=0.5)

        assert said(answer) == "the text of 7"
        assert answer.meta is not None
        assert (await room.made()) == "read page-0007 | cancelled 0"


async def test_what_is_called_off_is_called_off_at_the_server_too() -> None:
    async with a_book() as room:
        await room.begin(READ, page="page-0007", seconds=5)
        await until(lambda: bool(room.meter.tries))

        other = await room.call(READ, page="page-0008")

        assert said(other) == "the text of 8"
        await room.landed()
        assert "cancelled 1" in await room.made()
    assert room.meter.waste == [Waste.CANCELLED]


async def test_what_was_read_before_a_change_is_read_again_after_it() -> None:
    async with a_book() as room:
        await room.begin(READ, page="page-0007")
        await room.landed()
        await room.call(WRITE, page="page-0007", text="another text")

        answer = await room.call(READ, page="page-0007")

        assert (said(answer), answer.meta) == ("another text", None)
    assert room.meter.waste == [Waste.CHANGED]


async def test_an_answer_for_which_its_caller_was_asked_something_is_thrown_away() -> None:
    async with a_book() as room:
        await room.begin(CONFIDE)
        await room.landed()

        assert len(room.ahead.lane.buffer) == 0
    assert len(room.meter.waste) == 1


async def test_a_process_that_ends_in_the_middle_ends_in_order() -> None:
    async with a_book() as room:
        await room.begin(READ, page="page-0007", seconds=5)
        await until(lambda: bool(room.meter.tries))

    assert room.ahead.lane.under_way == 0
    assert room.meter.waste == [Waste.CANCELLED]


async def look_up(room: BookRoom, caller: Principal, word: str) -> bool:
    """A piece of work that is done again and again; whether the second half of it was there."""
    opened = await room.called(caller, OPEN, {"word": word})
    await room.thought()
    assert isinstance(opened.structured, Mapping)
    text = await room.called(caller, READ, {"page": str(opened.structured["page"])})
    await room.thought()
    return text.meta is not None


async def test_work_that_repeats_is_foretold_in_shadow_first_and_then_done_ahead() -> None:
    async with a_book() as room:
        served = [
            await look_up(room, room.at_a_new_task(number), f"word {number}")
            for number in range(45)
        ]

        assert not any(served[:20])
        assert all(served[-5:])
        assert room.meter.hits == sum(served)
        words = "; ".join(f"open word {number}" for number in range(45))
        made = (await room.made()).split(" | ", maxsplit=1)[0].split("; ")
        assert [each for each in made if each.startswith("open")] == words.split("; ")
        assert len(made) == 2 * 45 + len(room.meter.waste)


async def test_work_that_does_not_repeat_is_not_done_ahead() -> None:
    async with a_book() as room:
        for number in range(25):
            caller = room.at_a_new_task(number)
            await room.called(caller, READ, {"page": f"page-{number * 37 % 100:04}"})
            await room.thought()
            await room.called(caller, READ, {"page": f"page-{number * 53 % 100:04}"})
            await room.thought()

    assert room.meter.tries == 0
