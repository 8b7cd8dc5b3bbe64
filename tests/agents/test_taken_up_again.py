"""What a run that is taken up again knows of what was before: of stops, of money, of words."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

from portico.agents.core.activation import stop_topic
from portico.agents.core.conversations import NOT_KEPT
from portico.agents.core.errors import ModelBroke, ToolNotAllowed
from portico.agents.core.events import RunFinished, ToolCallFinished
from portico.agents.core.model_requests import (
    ModelAsk,
    ResponseChunk,
    TextChunk,
    ToolCallChunk,
    UserMessage,
)
from portico.agents.core.tool_calls import Early, RenderedToolResult, RequestedToolCall, RunIdentity
from portico.agents.core.traces import AgentRunStatus, RunTrace, ToolUse, TraceUpdates, TurnTrace
from portico.engine.core.runs import RunStatus
from portico.kernel.effect import Effect
from portico.kernel.ids import RunId
from portico.kernel.principal import Principal
from portico.testing.agent_data import MemoryTraces
from portico.testing.agents import (
    ScriptedModels,
    ScriptedTool,
    ScriptedToolbox,
    a_call,
    a_reply,
    says,
    wants,
)
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.agents.room import PLENTY, Room
from tests.engine.room import ANA

WRITE = ScriptedTool(name="files.write", gives="written", effect=Effect.LOCAL_WRITE)


class GoneAfterTheTurn(MemoryTraces):
    """The process is gone when the first turn is written down."""

    def __init__(self, room: Room) -> None:
        super().__init__(room.engine.world)
        self.written = asyncio.Event()

    async def add_turn(self, caller: Principal, turn: TurnTrace) -> TurnTrace:
        added = await super().add_turn(caller, turn)
        if not self.written.is_set():
            self.written.set()
            await asyncio.Event().wait()
        return added


async def test_a_run_that_was_stopped_while_nobody_carried_it_out_makes_no_calls() -> None:
    toolbox = ScriptedToolbox(WRITE)
    room = Room(ScriptedModels(wants(a_call("files__write"))), toolbox)
    room.traces = traces = GoneAfterTheTurn(room)
    run = await room.start()
    await room.crash(run, traces.written)

    await room.traces.stop(ANA, run, room.engine.clock.now())
    await room.leg(run)

    assert (await room.trace(run)).run.status is AgentRunStatus.STOPPED
    assert toolbox.made == []


async def test_a_call_that_was_made_before_a_run_was_stopped_is_in_its_trace() -> None:
    class GoneBeforeTheUse(MemoryTraces):
        made = asyncio.Event()

        async def add_use(self, caller: Principal, use: ToolUse, *, after: int = 0) -> TraceUpdates:
            if not self.made.is_set():
                self.made.set()
                await asyncio.Event().wait()
            return await super().add_use(caller, use, after=after)

    toolbox = ScriptedToolbox(WRITE)
    room = Room(ScriptedModels(wants(a_call("files__write"))), toolbox)
    room.traces = traces = GoneBeforeTheUse(room.engine.world)
    run = await room.start()
    await room.crash(run, traces.made)

    await room.traces.stop(ANA, run, room.engine.clock.now())
    await room.leg(run)

    trace = await room.trace(run)
    assert trace.run.status is AgentRunStatus.STOPPED
    assert [use.text for use in trace.uses] == ["written"]
    assert len(toolbox.made) == 1


async def test_a_run_that_is_stopped_as_its_model_ends_makes_no_calls() -> None:
    async def speaking(_ask: ModelAsk) -> AsyncIterator[ResponseChunk]:
        yield ToolCallChunk(a_call("files__write"))
        await room.traces.stop(ANA, run, room.engine.clock.now())
        room.engine.bus.wake(ANA.space, stop_topic(run))
        yield a_reply("", a_call("files__write"))

    toolbox = ScriptedToolbox(WRITE)
    room = Room(ScriptedModels(speaking), toolbox)
    run = await room.start()

    await room.leg(run)

    assert (await room.trace(run)).run.status is AgentRunStatus.STOPPED
    assert toolbox.made == []


async def test_what_failed_attempts_cost_is_not_forgotten_when_a_run_is_taken_up_again() -> None:
    broken: list[ResponseChunk | Exception] = [
        TextChunk("word " * 100),
        ModelBroke("local:small", "cut."),
    ]
    models = ScriptedModels(*[broken] * 3, says("Here I am."))
    room = Room(models, tools=(), limits=replace(PLENTY, tokens=600))
    run = await room.start()
    await room.leg(run)
    spent = (await room.trace(run)).run.usage.input

    await room.resume(ANA, run)
    await room.leg(run)

    trace = await room.trace(run)
    assert spent > 300
    assert trace.run.usage.input + trace.run.usage.output > spent
    assert trace.run.status is AgentRunStatus.EXHAUSTED


async def test_an_answer_that_was_under_way_when_a_process_ended_is_counted() -> None:
    asked = asyncio.Event()

    async def slow(_ask: ModelAsk) -> AsyncIterator[ResponseChunk]:
        yield TextChunk("Half ")
        asked.set()
        await asyncio.Event().wait()

    room = Room(ScriptedModels(slow, says("Whole.")), tools=(), max_output_tokens=100)
    run = await room.start()
    await room.crash(run, asked)

    await room.leg(run)

    turn = (await room.trace(run)).turns[0]
    assert turn.text == "Whole."
    assert turn.counted > 150
    assert "cut off while a model was being asked" in turn.notes[0]


async def test_what_is_said_as_a_run_is_about_to_end_is_answered() -> None:
    class SaidAtTheLastMoment(MemoryTraces):
        async def end(self, caller: Principal, run: RunTrace, *, heard: int | None = None) -> bool:
            if heard == 1:
                await self.say(ANA, run.run, "One more thing.", BEGINNING)
            return await super().end(caller, run, heard=heard)

    models = ScriptedModels(says("Good day."), says("Yes?"))
    room = Room(models, tools=())
    room.traces = SaidAtTheLastMoment(room.engine.world)

    trace = await room.done()

    assert trace.run.answer == "Yes?"
    assert UserMessage("One more thing.") in models.asks[1].messages


async def test_what_is_not_kept_any_more_is_said_to_be_missing() -> None:
    models = ScriptedModels(says("Who knows."))
    room = Room(models, tools=())
    forgotten = RunId.mint(BEGINNING, SeededEntropy("forgotten"))

    run = await room.start("What did I say?", continues=forgotten)
    await room.leg(run)

    assert list(models.asks[0].messages) == [UserMessage(NOT_KEPT), UserMessage("What did I say?")]


async def test_a_tool_that_breaks_the_run_ends_it_when_the_others_have_ended() -> None:
    class Breaking(ScriptedToolbox):
        async def call(
            self, acts: RunIdentity, wanted: RequestedToolCall, *, early: Early | None
        ) -> RenderedToolResult:
            if wanted.position == 0:
                raise ToolNotAllowed("files.write", "clerk")
            return await super().call(acts, wanted, early=early)

    toolbox = Breaking(WRITE)
    calls = wants(a_call("files__write", "a"), a_call("files__write", "b"))
    room = Room(ScriptedModels(calls), toolbox)
    run = await room.start()

    ended = await room.leg(run)

    trace = await room.trace(run)
    assert ended.status is RunStatus.FAILED
    assert trace.run.error_code == "tool_not_allowed"
    assert [use.position for use in trace.uses] == [1]
    assert len(toolbox.made) == 1


async def test_a_model_that_thinks_aloud_is_heard_and_its_thoughts_are_no_answer() -> None:
    trace = await Room(ScriptedModels(says("Yes.", thought="Let me see.")), tools=()).done()

    assert (trace.turns[0].thought, trace.run.answer) == ("Let me see.", "Yes.")


async def test_a_model_that_says_nothing_in_the_time_a_run_has_is_given_up() -> None:
    async def silent(_ask: ModelAsk) -> AsyncIterator[ResponseChunk]:
        await asyncio.Event().wait()
        yield TextChunk("never")

    room = Room(ScriptedModels(silent), tools=(), limits=replace(PLENTY, seconds=0.02))

    trace = await room.done()

    assert trace.run.status is AgentRunStatus.EXHAUSTED
    assert trace.run.error_code == "agent_budget_spent"


async def test_what_was_said_until_the_time_was_over_is_kept() -> None:
    async def slow(_ask: ModelAsk) -> AsyncIterator[ResponseChunk]:
        yield TextChunk("As far as I know")
        await asyncio.Event().wait()

    trace = await Room(ScriptedModels(slow), tools=(), limits=replace(PLENTY, seconds=0.02)).done()

    assert trace.run.answer == "As far as I know"


async def test_a_run_can_be_stopped_where_nobody_wakes_it() -> None:
    async def slow(_ask: ModelAsk) -> AsyncIterator[ResponseChunk]:
        yield TextChunk("As far ")
        await room.traces.stop(ANA, run, room.engine.clock.now())
        await asyncio.Event().wait()

    room = Room(ScriptedModels(slow), tools=(), bus=False)
    run = await room.start()

    await room.leg(run)

    assert (await room.trace(run)).run.status is AgentRunStatus.STOPPED


class GoneAfterTheUse(MemoryTraces):
    """The process is gone when a call is written down."""

    def __init__(self, room: Room) -> None:
        super().__init__(room.engine.world)
        self.written = asyncio.Event()

    async def add_use(self, caller: Principal, use: ToolUse, *, after: int = 0) -> TraceUpdates:
        news = await super().add_use(caller, use, after=after)
        if not self.written.is_set():
            self.written.set()
            await asyncio.Event().wait()
        return news


async def test_what_was_written_down_and_not_told_is_told_by_whoever_takes_the_run_up() -> None:
    room = Room(
        ScriptedModels(wants(a_call("files__write")), says("Done.")), ScriptedToolbox(WRITE)
    )
    room.traces = traces = GoneAfterTheUse(room)
    run = await room.start()
    await room.crash(run, traces.written)
    before = [each for each in room.told(run) if isinstance(each, ToolCallFinished)]

    await room.leg(run)

    told = [type(each) for each in room.told(run)]
    assert before == []
    assert told.count(ToolCallFinished) == 1
    assert told.index(ToolCallFinished) < told.index(RunFinished)


async def test_what_was_told_is_not_told_again_by_whoever_takes_the_run_up() -> None:
    asked = asyncio.Event()

    async def hanging(_ask: ModelAsk) -> AsyncIterator[ResponseChunk]:
        asked.set()
        await asyncio.Event().wait()
        yield TextChunk("Never.")

    models = ScriptedModels(wants(a_call("files__write")), hanging, says("Done."))
    room = Room(models, ScriptedToolbox(WRITE))
    run = await room.start()
    await room.crash(run, asked)

    await room.leg(run)

    ended = [each for each in room.told(run) if isinstance(each, ToolCallFinished)]
    assert [(each.call, each.text) for each in ended] == [("c1", "written")]
