"""A run that is told to stop, and reads that begin before the model has done speaking."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

from portico.agents.core.asking import CallPiece, ModelAsk, Piece, TextPiece
from portico.agents.core.calling import Wanted
from portico.agents.core.errors import ModelBroke
from portico.agents.core.given import stop_topic
from portico.agents.core.message import UNREADABLE, ModelSaid, UserSaid
from portico.agents.core.trace import AgentRunStatus
from portico.kernel.effect import Effect
from portico.testing.agents import (
    ScriptedModels,
    ScriptedTool,
    ScriptedToolbox,
    a_call,
    a_reply,
    says,
    wants,
)
from tests.agents.room import PLENTY, Room
from tests.engine.room import ANA


async def test_a_run_that_is_stopped_while_its_model_speaks_keeps_what_was_said() -> None:
    async def slow(_ask: ModelAsk) -> AsyncIterator[Piece]:
        yield TextPiece("As far as ")
        await room.traces.stop(ANA, run, room.engine.clock.now())
        room.engine.bus.wake(ANA.space, stop_topic(run))
        await asyncio.Event().wait()

    models = ScriptedModels(slow)
    room = Room(models, tools=())
    run = await room.start()

    await room.leg(run)

    trace = await room.trace(run)
    assert trace.run.status is AgentRunStatus.STOPPED
    assert trace.run.answer == "As far as "
    assert models.closed == 1


async def test_a_run_that_is_stopped_between_turns_asks_nothing_more() -> None:
    async def reading(_wanted: Wanted) -> str:
        await room.traces.stop(ANA, run, room.engine.clock.now())
        return "read"

    models = ScriptedModels(wants(a_call(), text="I shall look."), says("No."))
    room = Room(models, ScriptedToolbox(ScriptedTool(name="files.read", gives=reading)))
    run = await room.start()

    await room.leg(run)

    trace = await room.trace(run)
    assert trace.run.status is AgentRunStatus.STOPPED
    assert trace.run.answer == "I shall look."
    assert len(models.asks) == 1


async def test_a_read_begins_as_soon_as_its_arguments_are_there() -> None:
    begun = asyncio.Event()

    async def reading(_wanted: Wanted) -> str:
        begun.set()
        return "read early"

    async def speaking(_ask: ModelAsk) -> AsyncIterator[Piece]:
        yield CallPiece(a_call())
        await begun.wait()
        yield a_reply("", a_call())

    toolbox = ScriptedToolbox(ScriptedTool(name="files.read", gives=reading))
    room = Room(ScriptedModels(speaking, says("Done.")), toolbox)

    trace = await room.done()

    assert [(use.text, use.early) for use in trace.uses] == [("read early", True)]
    assert len(toolbox.made) == 1
    steps = [step.name for step in await room.engine.steps(trace.run.run)]
    assert "call-1-0" in steps


async def test_what_may_change_something_waits_until_the_model_has_spoken() -> None:
    toolbox = ScriptedToolbox(ScriptedTool(name="files.write", effect=Effect.LOCAL_WRITE))
    room = Room(ScriptedModels(wants(a_call("files__write")), says("Done.")), toolbox)

    trace = await room.done()

    assert [use.early for use in trace.uses] == [False]
    assert toolbox.early_ones == []


async def test_reads_begun_for_an_answer_that_broke_off_count_as_calls() -> None:
    broken: list[Piece | Exception] = [
        CallPiece(a_call(path="/a")),
        ModelBroke("local:small", "cut."),
    ]
    again = wants(a_call(path="/a"), a_call(id_="c2", path="/b"))
    toolbox = ScriptedToolbox(ScriptedTool(name="files.read", gives="read"))
    room = Room(
        ScriptedModels(broken, again, says("Done.")), toolbox, limits=replace(PLENTY, calls=2)
    )

    trace = await room.done()

    assert [use.code for use in trace.uses] == [None, "agent_budget_spent"]
    assert trace.run.status is AgentRunStatus.COMPLETED


async def test_at_most_eight_reads_begin_early() -> None:
    calls = [a_call(id_=f"c{n}", path=f"/{n}") for n in range(10)]
    toolbox = ScriptedToolbox(ScriptedTool(name="files.read", gives="read"))
    room = Room(ScriptedModels(wants(*calls), says("Done.")), toolbox)

    trace = await room.done()

    assert [use.early for use in trace.uses] == [*[True] * 8, False, False]
    assert len(toolbox.made) == 10


async def test_nothing_begins_early_where_that_is_switched_off() -> None:
    toolbox = ScriptedToolbox(ScriptedTool(name="files.read", gives="read"))
    room = Room(ScriptedModels(wants(a_call()), says("Done.")), toolbox, early_start=False)

    trace = await room.done()

    assert [use.early for use in trace.uses] == [False]


async def test_arguments_that_are_no_json_are_given_back_to_the_model() -> None:
    toolbox = ScriptedToolbox(ScriptedTool(name="files.read", gives="read"))
    unreadable = a_call(**{UNREADABLE: "{path:"})
    room = Room(ScriptedModels(wants(unreadable), says("Sorry.")), toolbox, early_start=False)

    trace = await room.done()

    assert [(use.failed, use.code) for use in trace.uses] == [(True, "bad_arguments")]
    assert toolbox.made == []


async def test_calls_with_one_id_are_told_apart() -> None:
    models = ScriptedModels(
        wants(a_call(id_="x", path="/a"), a_call(id_="x", path="/b")),
        wants(a_call(id_="x", path="/c")),
        says("Done."),
    )
    room = Room(models, ScriptedToolbox(ScriptedTool(name="files.read")))

    trace = await room.done()

    assert [call.id for turn in trace.turns for call in turn.calls] == ["x", "call-1-1", "call-2-0"]


async def test_a_run_goes_on_from_the_one_it_continues() -> None:
    models = ScriptedModels(says("I am Ada."), says("Ada, as I said."))
    room = Room(models, tools=())
    first = await room.start("Who are you?")
    await room.leg(first)

    second = await room.start("Who?", continues=first, history=(UserSaid("By the way."),))
    await room.leg(second)

    assert list(models.asks[1].messages) == [
        UserSaid("Who are you?"),
        ModelSaid("I am Ada."),
        UserSaid("By the way."),
        UserSaid("Who?"),
    ]
