"""Runs of agents from their start to their end, with in-memory doors."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from portico.agents.core.activation import stop_topic
from portico.agents.core.errors import AgentRunNotFound, ModelBroke
from portico.agents.core.events import (
    InputReceived,
    RunFinished,
    ToolCallFinished,
    ToolCallStarted,
    TurnFinished,
    TurnStarted,
)
from portico.agents.core.model_requests import (
    UNREADABLE,
    AssistantMessage,
    ModelAsk,
    ResponseChunk,
    TextChunk,
    ToolCallChunk,
    ToolMessage,
    Usage,
    UserMessage,
)
from portico.agents.core.tool_calls import MANY, RequestedToolCall
from portico.agents.core.traces import AgentRunStatus
from portico.engine.core.runs import RunStatus
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

FILES = ScriptedTool(name="files.read", gives="The letter says hello.")


async def test_an_agent_without_tools_answers_in_one_turn() -> None:
    room = Room(ScriptedModels(says("Good day to you.")), tools=())

    trace = await room.done()

    assert trace.run.status is AgentRunStatus.COMPLETED
    assert trace.run.answer == "Good day to you."
    assert [turn.text for turn in trace.turns] == ["Good day to you."]
    assert room.talk.texts(trace.run.run) == "Good day to you."
    assert room.heard == ["Hello."]


async def test_a_model_is_given_what_its_tools_gave() -> None:
    models = ScriptedModels(wants(a_call(path="/letter")), says("It says hello."))
    trace = await Room(models, ScriptedToolbox(FILES)).done("What does the letter say?")

    assert trace.run.answer == "It says hello."
    assert [(use.tool, use.text, use.failed) for use in trace.uses] == [
        ("files.read", "The letter says hello.", False)
    ]
    assert list(models.asks[1].messages) == [
        UserMessage("What does the letter say?"),
        AssistantMessage("", (a_call(path="/letter"),)),
        ToolMessage("c1", "files__read", "The letter says hello."),
    ]


async def test_what_happens_is_told_in_order() -> None:
    models = ScriptedModels(wants(a_call(path="/letter")), says("Hello."))
    room = Room(models, ScriptedToolbox(FILES))

    trace = await room.done()

    kinds = [type(each) for each in room.told(trace.run.run)]
    assert [kind for kind in kinds if kind.__name__ != "TextDelta"] == [
        TurnStarted,
        TurnFinished,
        ToolCallStarted,
        ToolCallFinished,
        TurnStarted,
        TurnFinished,
        RunFinished,
    ]


async def test_the_engine_is_told_nothing_of_what_was_said() -> None:
    models = ScriptedModels(wants(a_call(path="/secret")), says("The answer is secret."))
    room = Room(models, ScriptedToolbox(FILES))
    run = await room.start("What is secret?")

    ended = await room.leg(run)

    assert ended.status is RunStatus.DONE
    assert ended.result == {
        "status": "completed",
        "turns": 2,
        "tool_uses": 1,
        "tokens": 30,
        "money": "0",
    }
    kept = [step.output for step in await room.engine.steps(run) if step.name[:4] == "turn"]
    assert "secret" not in str(kept).replace("'", "")


async def test_what_people_say_meanwhile_is_heard_in_the_next_turn() -> None:
    async def reading(_wanted: object) -> str:
        await room.traces.say(ANA, room_run[0], "Be brief.", room.engine.clock.now())
        return "A long letter."

    models = ScriptedModels(wants(a_call(path="/letter")), says("Hello."))
    room = Room(models, ScriptedToolbox(ScriptedTool(name="files.read", gives=reading)))
    room_run = [await room.start()]

    await room.leg(room_run[0])

    assert UserMessage("Be brief.") in models.asks[1].messages
    assert InputReceived(number=2, text="Be brief.") in room.told(room_run[0])
    assert room.heard == ["Hello.", "Be brief."]


async def test_what_is_said_during_the_last_answer_is_answered_too() -> None:
    async def speaking(_ask: ModelAsk) -> AsyncIterator[ResponseChunk]:
        await room.traces.say(ANA, room_run[0], "And in French?", room.engine.clock.now())
        for piece in says("Hello."):
            yield piece

    models = ScriptedModels(speaking, says("Bonjour."))
    room = Room(models, tools=())
    room_run = [await room.start()]

    await room.leg(room_run[0])

    trace = await room.trace(room_run[0])
    assert trace.run.answer == "Bonjour."
    assert [turn.inputs_seen for turn in trace.turns] == [1, 2]


async def test_a_run_that_has_had_its_turns_ends_with_what_it_has() -> None:
    calls = [wants(a_call(id_=f"c{n}", path="/a"), text=f"Step {n}.") for n in range(3)]
    room = Room(ScriptedModels(*calls), ScriptedToolbox(FILES), limits=replace(PLENTY, turns=3))

    trace = await room.done()

    assert trace.run.status is AgentRunStatus.EXHAUSTED
    assert trace.run.error_code == "agent_turns_spent"
    assert trace.run.answer == "Step 2."
    assert len(trace.uses) == 2


async def test_calls_of_one_turn_are_made_beside_each_other() -> None:
    both = asyncio.Barrier(2)

    async def together(_wanted: object) -> str:
        await both.wait()
        return "both"

    writing = ScriptedTool(name="files.write", gives=together)
    models = ScriptedModels(
        wants(a_call("files__write", "c1"), a_call("files__write", "c2")), says("Done.")
    )
    trace = await Room(models, ScriptedToolbox(writing), early_start=False).done()

    assert [use.text for use in trace.uses] == ["both", "both"]


async def test_a_tool_that_is_not_on_the_list_is_refused_and_told_to_the_model() -> None:
    models = ScriptedModels(wants(a_call("db__drop")), says("I may not."))
    trace = await Room(models, ScriptedToolbox(FILES)).done()

    assert trace.run.status is AgentRunStatus.COMPLETED
    assert [(use.tool, use.code) for use in trace.uses] == [("db__drop", "tool_not_allowed")]


@pytest.mark.parametrize("reported", [True, False])
async def test_what_was_used_is_added_up(reported: bool) -> None:
    usage = Usage(input=100, output=10, reported=reported)
    models = ScriptedModels(wants(a_call(), usage=usage), says("Done.", usage=usage))
    trace = await Room(models, ScriptedToolbox(FILES)).done()

    assert trace.run.usage.reported is reported
    assert (trace.run.usage.input == 200) is reported


async def test_a_run_that_is_stopped_while_its_model_speaks_keeps_what_was_said() -> None:
    async def slow(_ask: ModelAsk) -> AsyncIterator[ResponseChunk]:
        yield TextChunk("As far as ")
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
    async def reading(_wanted: RequestedToolCall) -> str:
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

    async def reading(_wanted: RequestedToolCall) -> str:
        begun.set()
        return "read early"

    async def speaking(_ask: ModelAsk) -> AsyncIterator[ResponseChunk]:
        yield ToolCallChunk(a_call())
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
    trace = await Room(ScriptedModels(wants(a_call("files__write")), says("Done.")), toolbox).done()

    assert [use.early for use in trace.uses] == [False]
    assert toolbox.early_ones == []


async def test_reads_begun_for_an_answer_that_broke_off_count_as_calls() -> None:
    broken: list[ResponseChunk | Exception] = [
        ToolCallChunk(a_call(path="/a")),
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


async def test_at_most_eight_reads_begin_early_and_none_where_that_is_switched_off() -> None:
    calls = [a_call(id_=f"c{n}", path=f"/{n}") for n in range(10)]
    toolbox = ScriptedToolbox(ScriptedTool(name="files.read", gives="read"))

    trace = await Room(ScriptedModels(wants(*calls), says("Done.")), toolbox).done()
    late = await Room(
        ScriptedModels(wants(a_call()), says("Done.")), toolbox, early_start=False
    ).done()

    assert [use.early for use in trace.uses] == [*[True] * 8, False, False]
    assert [use.early for use in late.uses] == [False]
    assert len(toolbox.made) == 11


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
    trace = await Room(models, ScriptedToolbox(ScriptedTool(name="files.read"))).done()

    assert [call.id for turn in trace.turns for call in turn.calls] == ["x", "call-1-1", "call-2-0"]


async def test_a_run_goes_on_from_the_one_it_continues() -> None:
    models = ScriptedModels(says("I am Ada."), says("Ada, as I said."))
    room = Room(models, tools=())
    first = await room.start("Who are you?")
    await room.leg(first)

    second = await room.start("Who?", continues=first, history=(UserMessage("By the way."),))
    await room.leg(second)

    assert list(models.asks[1].messages) == [
        UserMessage("Who are you?"),
        AssistantMessage("I am Ada."),
        UserMessage("By the way."),
        UserMessage("Who?"),
    ]


TOOLS = [ScriptedTool(name=f"files.read_{number}") for number in range(MANY + 1)]


async def named(room: Room) -> set[tuple[str, ...]]:
    """In its trace, and in what was told of its beginning and of its end."""
    run = await room.start()
    await room.leg(run)
    told = room.told(run)
    return {
        tuple(use.tool for use in (await room.trace(run)).uses),
        tuple(each.tool for each in told if isinstance(each, ToolCallStarted)),
        tuple(each.tool for each in told if isinstance(each, ToolCallFinished)),
    }


async def test_one_that_the_agent_may_not_use_is_called_as_others_call_it() -> None:
    toolbox = ScriptedToolbox(*TOOLS)
    toolbox.others = {"files.burn"}
    models = ScriptedModels(wants(a_call("files__burn"), a_call("files__melt", "c2")), says("No."))

    assert await named(Room(models, toolbox)) == {("files.burn", "files__melt")}


async def test_one_that_was_not_shown_is_called_as_others_call_it() -> None:
    last = f"files__read_{MANY}"
    inside = a_call("call_tool", "c2", tool=last, arguments={})
    models = ScriptedModels(wants(a_call(last), inside), says("Found."))

    assert await named(Room(models, ScriptedToolbox(*TOOLS))) == {(f"files.read_{MANY}",) * 2}


WORDS = "the heron flies at noon"


@pytest.mark.parametrize("error", [RuntimeError(WORDS), AgentRunNotFound(WORDS)])
async def test_the_journal_knows_the_kind_of_what_broke_and_no_word_of_it(error: Exception) -> None:
    room = Room(ScriptedModels(error))
    run = await room.start()

    ended = await room.leg(run)

    steps = await room.engine.runs.steps(ANA, run)
    assert steps[0].failure is not None
    assert steps[0].failure.type == type(error).__name__
    assert WORDS not in f"{steps} {ended}"
    assert (await room.trace(run)).run.status is AgentRunStatus.FAILED
