"""From the first time that somebody says what they want to when its reads are there already.

One gateway in memory with everything in it: plans are run and learnt from, suggested, accepted,
and at last read ahead of time. What a plan changes is staged: it is made when the plan is run, and
not a moment before.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta

import pytest

from portico.gateway.ahead.switch_ahead import AheadWish
from portico.gateway.core.ahead.switches import AheadMode
from portico.gateway.core.call import Answer
from portico.gateway.core.learnt import ToolPlace
from portico.gateway.core.suggest.mode import Mode
from portico.gateway.core.suggest.suggestion import Suggestion
from portico.gateway.core.suggest.threshold import START, Outcome
from portico.gateway.core.tool import Tool
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal
from tests.gateway.suggest.suggest_room import ANOTHER, COPY, INTENT, SuggestRoom
from tests.gateway.workflows.plan_room import ANA

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(60)]

READ_AHEAD = "read /notes/b.md"
WRITTEN = "write /notes/b.md"


class WholeRoom(SuggestRoom):
    """The lane is the real one; the server of files runs, and is slow."""

    def __init__(self) -> None:
        super().__init__()
        self.suggest_workflow = self.gateway.over_http.suggest.suggest_workflow
        self.lane = self.gateway.running_ahead.lane
        self.lane.ask = replace(self.lane.ask, now=self.seconds)
        self.switch = self.gateway.over_http.ahead.switch
        for (space, server), tools in self.world.tools.items():
            for tool in tools:
                for _ in range(3):
                    place = ToolPlace(server, tool.ref.name)
                    self.lane.paces.note(space, place, timedelta(seconds=1))

    def _answer(self, tool: Tool) -> Callable[[JsonObject], Answer]:
        at_once: Callable[[JsonObject], Answer] = super()._answer(tool)

        def answer(arguments: JsonObject) -> Answer:
            self.clock.turn(timedelta(seconds=1))
            return at_once(arguments)

        return answer

    def seconds(self) -> float:
        return self.clock.now().timestamp()

    @asynccontextmanager
    async def open(self) -> AsyncIterator["WholeRoom"]:
        running = asyncio.create_task(self.lane.run())
        await asyncio.sleep(0)
        try:
            yield self
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running

    async def at_rest(self) -> None:
        for _ in range(1_000):
            if not self.lane.under_way:
                return
            await asyncio.sleep(0)

    async def asked(self, by: Principal | None = None) -> Suggestion:
        made = await self.suggested(ANOTHER, by)
        await self.at_rest()
        return made


@pytest.mark.requirement("seed001:12")
async def test_what_had_to_be_said_is_suggested_and_at_last_there_before_it_is_asked_for() -> None:
    async with WholeRoom().open() as room:
        without = replace(await room.bot(), tools=(("mail.*",),))
        explicit = await room.asked(by=without)
        assert (explicit.mode, explicit.plan) == (Mode.EXPLICIT_REQUIRED, None)

        suggested = await room.asked()
        assert suggested.mode is Mode.SUGGESTION
        assert suggested.threshold == START
        assert READ_AHEAD not in room.made

        await room.learnt()
        await room.accepted(25)
        room.made.clear()
        ahead = await room.asked()

    assert ahead.mode is Mode.RAN_AHEAD
    assert room.made == {READ_AHEAD: 1}


@pytest.mark.nightly
async def test_it_goes_back_to_suggesting_when_what_was_suggested_is_rejected() -> None:
    async with WholeRoom().open() as room:
        await room.learnt()
        await room.accepted(25)
        for _ in range(30):
            made = await room.suggested()
            assert made.id is not None
            await room.feedback(await room.bot(), made.id, Outcome.REJECTED)
        room.made.clear()

        again = await room.asked()

    assert again.mode is Mode.SUGGESTION
    assert again.threshold > START
    assert room.made == {}


@pytest.mark.nightly
async def test_the_kill_switch_leaves_a_suggestion() -> None:
    async with WholeRoom().open() as room:
        await room.learnt()
        await room.accepted(25)
        await room.switch(ANA, AheadWish(mode=AheadMode.OFF))
        room.made.clear()

        made = await room.asked()

    assert made.mode is Mode.SUGGESTION
    assert room.made == {}


@pytest.mark.requirement("ahead:writes:staged")
async def test_what_it_reads_is_read_once_and_what_it_changes_is_changed_when_it_is_run() -> None:
    async with WholeRoom().open() as room:
        await room.learnt()
        await room.accepted(25)
        room.made.clear()
        made = await room.asked()
        assert [*made.staged] == ["write"]
        assert [*made.ahead] == ["read"]
        assert room.made == {READ_AHEAD: 1}

        await room.run_of(made)

    assert room.made == {READ_AHEAD: 1, WRITTEN: 1}


@pytest.mark.nightly
async def test_in_no_mode_is_it_told_what_was_read() -> None:
    async with WholeRoom().open() as room:
        await room.learnt()
        await room.accepted(25)
        made = await room.asked()

    assert made.mode is Mode.RAN_AHEAD
    assert '"did"' not in str(made.as_json())
    assert "'did'" not in str(made.as_json())


@pytest.mark.nightly
async def test_with_another_value_nothing_of_it_is_used() -> None:
    async with WholeRoom().open() as room:
        await room.learnt()
        await room.accepted(25)
        await room.asked()
        room.made.clear()

        await room.begun(plan=COPY, intent=INTENT)

    assert room.made == {"read /notes/a.md": 1, "write /notes/a.md": 1}
