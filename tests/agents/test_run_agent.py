"""Runs of agents from their start to their end, with in-memory doors."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from portico.agents.core.asking import ModelAsk, Piece, Usage
from portico.agents.core.happening import (
    Heard,
    RunEnded,
    ToolBegan,
    ToolEnded,
    TurnBegan,
    TurnEnded,
)
from portico.agents.core.message import ModelSaid, ToolGave, UserSaid
from portico.agents.core.trace import AgentRunStatus
from portico.engine.core.run import RunStatus
from portico.testing.agents import (
    ScriptedModels,
    ScriptedTool,
    ScriptedToolbox,
    a_call,
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
    room = Room(models, ScriptedToolbox(FILES))

    trace = await room.done("What does the letter say?")

    assert trace.run.answer == "It says hello."
    assert [(use.tool, use.text, use.failed) for use in trace.uses] == [
        ("files.read", "The letter says hello.", False)
    ]
    assert list(models.asks[1].messages) == [
        UserSaid("What does the letter say?"),
        ModelSaid("", (a_call(path="/letter"),)),
        ToolGave("c1", "files__read", "The letter says hello."),
    ]


async def test_what_happens_is_told_in_order() -> None:
    models = ScriptedModels(wants(a_call(path="/letter")), says("Hello."))
    room = Room(models, ScriptedToolbox(FILES))

    trace = await room.done()

    kinds = [type(each) for each in room.told(trace.run.run)]
    assert [kind for kind in kinds if kind.__name__ != "TextAdded"] == [
        TurnBegan,
        TurnEnded,
        ToolBegan,
        ToolEnded,
        TurnBegan,
        TurnEnded,
        RunEnded,
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

    assert UserSaid("Be brief.") in models.asks[1].messages
    assert Heard(number=2, text="Be brief.") in room.told(room_run[0])
    assert room.heard == ["Hello.", "Be brief."]


async def test_what_is_said_during_the_last_answer_is_answered_too() -> None:
    async def speaking(_ask: ModelAsk) -> AsyncIterator[Piece]:
        await room.traces.say(ANA, room_run[0], "And in French?", room.engine.clock.now())
        for piece in says("Hello."):
            yield piece

    models = ScriptedModels(speaking, says("Bonjour."))
    room = Room(models, tools=())
    room_run = [await room.start()]

    await room.leg(room_run[0])

    trace = await room.trace(room_run[0])
    assert trace.run.answer == "Bonjour."
    assert [turn.heard for turn in trace.turns] == [1, 2]


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
    room = Room(models, ScriptedToolbox(writing), early_start=False)

    trace = await room.done()

    assert [use.text for use in trace.uses] == ["both", "both"]


async def test_a_tool_that_is_not_on_the_list_is_refused_and_told_to_the_model() -> None:
    models = ScriptedModels(wants(a_call("db__drop")), says("I may not."))
    room = Room(models, ScriptedToolbox(FILES))

    trace = await room.done()

    assert trace.run.status is AgentRunStatus.COMPLETED
    assert [(use.tool, use.code) for use in trace.uses] == [("db__drop", "tool_not_allowed")]


@pytest.mark.parametrize("reported", [True, False])
async def test_what_was_used_is_added_up(reported: bool) -> None:
    usage = Usage(input=100, output=10, reported=reported)
    models = ScriptedModels(wants(a_call(), usage=usage), says("Done.", usage=usage))
    room = Room(models, ScriptedToolbox(FILES))

    trace = await room.done()

    assert trace.run.usage.reported is reported
    assert (trace.run.usage.input == 200) is reported
