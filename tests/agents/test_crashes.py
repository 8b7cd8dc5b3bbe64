"""A run that is cut off anywhere goes on elsewhere: no answer is paid for twice once it is written
down, and no call is made twice."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Sequence

import pytest

from portico.agents.core.model_requests import ModelAsk, ResponseChunk
from portico.agents.core.tool_calls import Early, RenderedToolResult, RequestedToolCall, RunIdentity
from portico.agents.core.traces import AgentRunStatus, RunTrace, ToolUse, TraceUpdates, TurnTrace
from portico.engine.core.runs import RunStatus
from portico.kernel.effect import Effect
from portico.kernel.principal import Principal
from portico.testing.agent_data import MemoryTraces
from portico.testing.agents import (
    ScriptedModels,
    ScriptedTool,
    ScriptedToolbox,
    a_call,
    says,
    wants,
)
from portico.testing.memory_store import InMemoryStore
from tests.agents.room import Room
from tests.engine.journals import Fuse, FusedJournal


class FusedTraces(MemoryTraces):
    fuse: Fuse

    async def add_turn(self, caller: Principal, turn: TurnTrace) -> TurnTrace:
        await self.fuse(f"before writing turn {turn.number}")
        written = await super().add_turn(caller, turn)
        await self.fuse(f"after writing turn {turn.number}")
        return written

    async def add_use(self, caller: Principal, use: ToolUse, *, after: int = 0) -> TraceUpdates:
        await self.fuse(f"before writing use {use.turn}.{use.position}")
        news = await super().add_use(caller, use, after=after)
        await self.fuse(f"after writing use {use.turn}.{use.position}")
        return news

    async def end(self, caller: Principal, run: RunTrace, *, heard: int | None = None) -> bool:
        await self.fuse("before the end")
        ended = await super().end(caller, run, heard=heard)
        await self.fuse("after the end")
        return ended


class Pausing(ScriptedModels):
    """Says what belongs to the turn that it is asked for, however often."""

    def __init__(self, *said: Sequence[ResponseChunk]) -> None:
        super().__init__()
        self.turns = said
        self.answered: Counter[int] = Counter()

    async def ask(self, caller: Principal, ask: ModelAsk) -> AsyncGenerator[ResponseChunk, None]:
        turn = sum(1 for message in ask.messages if hasattr(message, "calls"))
        self.answered[turn + 1] += 1
        for piece in self.turns[turn]:
            yield piece


class PausingToolbox(ScriptedToolbox):
    fuse: Fuse

    async def call(
        self, acts: RunIdentity, wanted: RequestedToolCall, *, early: Early | None
    ) -> RenderedToolResult:
        await self.fuse(f"before {wanted.step}")
        return await super().call(acts, wanted, early=early)


def a_script() -> Pausing:
    return Pausing(
        wants(a_call(id_="a", path="/a"), a_call("files__write", "b", path="/b")),
        wants(a_call("files__write", "c", path="/c"), text="Half way."),
        says("All is done."),
    )


def a_room(fuse: Fuse) -> Room:
    toolbox = PausingToolbox(
        ScriptedTool(name="files.read", gives="read"),
        ScriptedTool(name="files.write", gives="written", effect=Effect.LOCAL_WRITE),
    )
    toolbox.fuse = fuse
    room = Room(a_script(), toolbox)
    traces = FusedTraces(room.engine.world)
    traces.fuse = fuse
    room.traces = traces
    return room


@pytest.mark.requirement("agents:loop:cut-off-anywhere")
async def test_a_run_that_is_cut_off_anywhere_ends_as_if_it_had_not_been() -> None:
    places: list[str] = []
    for length in range(1, 100):
        fuse = Fuse(length)
        room = a_room(fuse)
        run = await room.start()
        carrying = asyncio.ensure_future(room.leg(run, FusedJournal(room.engine, fuse)))
        gone = asyncio.ensure_future(fuse.gone.wait())
        await asyncio.wait([carrying, gone], return_when=asyncio.FIRST_COMPLETED)
        gone.cancel()
        if carrying.done():
            break
        carrying.cancel()
        await asyncio.wait([carrying])
        where = fuse.at
        fuse.mended()
        places.append(where)
        written = [turn.number for turn in (await room.trace(run)).turns]
        models = room.models
        assert isinstance(models, Pausing)
        paid = dict(models.answered)

        ended = await room.leg(run)

        trace = await room.trace(run)
        assert ended.status is RunStatus.DONE, where
        assert trace.run.status is AgentRunStatus.COMPLETED, where
        assert trace.run.answer == "All is done.", where
        assert [turn.number for turn in trace.turns] == [1, 2, 3], where
        for number in written:
            assert models.answered[number] == paid[number], f"turn {number} again: {where}"
        toolbox = room.toolbox
        assert isinstance(toolbox, ScriptedToolbox)
        written_to = Counter(w.step for w in toolbox.made if w.tool == "files.write")
        assert set(written_to.values()) == {1}, where
        assert [(use.turn, use.position) for use in trace.uses] == [(1, 0), (1, 1), (2, 0)], where
    assert len(places) > 20
    assert len(set(places)) > 20


async def test_nothing_is_asked_or_made_when_an_ended_run_is_taken_up_again() -> None:
    fuse = Fuse(0)
    room = a_room(fuse)
    run = await room.start()
    fused = AfterTheEnd(room.engine.world)
    room.traces = fused
    fused.fuse = fuse

    await room.crash(run, fused.ended)
    models = room.models
    assert isinstance(models, Pausing)
    paid = dict(models.answered)
    ended = await room.leg(run)

    assert ended.status is RunStatus.DONE
    assert dict(models.answered) == paid


class AfterTheEnd(FusedTraces):
    """The process is gone when the end is written down."""

    def __init__(self, world: InMemoryStore) -> None:
        super().__init__(world)
        self.ended = asyncio.Event()

    async def end(self, caller: Principal, run: RunTrace, *, heard: int | None = None) -> bool:
        ended = await MemoryTraces.end(self, caller, run, heard=heard)
        if not self.ended.is_set():
            self.ended.set()
            await asyncio.Event().wait()
        return ended
