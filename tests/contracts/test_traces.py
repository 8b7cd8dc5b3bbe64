"""What every store of traces keeps to: each thing is written once, and nothing is taken back."""

import asyncio
import math
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from portico.agents.core.errors import AgentRunNotFound, AgentRunOver
from portico.agents.core.model_requests import (
    AssistantMessage,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)
from portico.agents.core.traces import AgentRunStatus, RunTrace
from portico.agents.ports import Traces
from portico.kernel.ids import ApprovalId, ContextId, RunId
from portico.kernel.json import JsonObject
from portico.kernel.label import Label, Level, join
from portico.kernel.principal import Principal
from portico.testing.agent_data import a_saying, a_turn, a_use, an_agent_run
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.contracts.doors import REFUSED, Doors

TEAM = Label(Level.TEAM)
SECRET = Label(Level.CONFIDENTIAL, frozenset({"finance"}))
LATER = BEGINNING + timedelta(hours=1)


@pytest.fixture
def traces(doors: Doors) -> Traces:
    return doors.traces


@pytest.fixture
async def run(traces: Traces, root: Principal) -> RunTrace:
    return await begun(traces, root)


async def begun(traces: Traces, caller: Principal, number: int = 1) -> RunTrace:
    run = an_agent_run(caller, number)
    await traces.add(caller, run, a_saying(run))
    return run


def ended(run: RunTrace, status: AgentRunStatus = AgentRunStatus.COMPLETED) -> RunTrace:
    return replace(
        run,
        status=status,
        ended_at=LATER,
        turns=2,
        tool_uses=3,
        usage=Usage(input=7, output=8, cached=1, reported=False),
        money=Decimal("0.25"),
        answer="Done.",
        error_code="agent_turns_spent",
        error="It was not done.",
    )


async def test_a_run_is_read_with_all_that_was_written_down_of_it(
    traces: Traces, root: Principal, run: RunTrace
) -> None:
    turn = a_turn(run, calls=(ToolCall("c", "files-read", {"path": "/ä", "deep": [1, None]}),))
    turn = replace(
        turn,
        thought="hm",
        stored={"sig": "x\0", "n": [1.5]},
        notes=("compacted",),
        first_piece=None,
    )
    approval = ApprovalId.mint(BEGINNING, SeededEntropy("approval"))
    use = replace(a_use(run, code="tool_failed"), approval=approval, early=True)

    await traces.add_turn(root, turn)
    await traces.add_use(root, use)
    await traces.add_use(root, a_use(run, place=1))
    second = await traces.say(root, run.run, "And Bob.", LATER)

    whole = await traces.read(root, run.run)
    assert whole.turns == (turn,)
    assert whole.uses == (use, a_use(run, place=1))
    assert whole.said == (a_saying(run), second)
    assert (second.number, second.by, second.text) == (2, root.id, "And Bob.")


async def test_a_run_is_found_by_its_task_in_its_space_alone(doors: Doors, root: Principal) -> None:
    traces, other = doors.traces, await doors.founded("acme")
    run, second = await begun(traces, root), await begun(traces, root, 2)
    unknown = ContextId.mint(BEGINNING, SeededEntropy("no task"))
    made_of_a_text = ContextId.of_digest(b"a task")

    assert await traces.at(root, run.context) == run.run
    assert await traces.at(root, second.context) == second.run
    for caller, task in ((other, run.context), (root, unknown), (root, made_of_a_text)):
        assert await traces.at(caller, task) is None
    with pytest.raises(AgentRunNotFound):
        await traces.read(other, run.run)


async def test_what_was_said_before_is_kept_with_the_run(traces: Traces, root: Principal) -> None:
    history = (
        UserMessage("Hello"),
        AssistantMessage("I look", (ToolCall("c", "read", {}),), {"sig": 1}),
        ToolMessage("c", "read", "nothing", failed=True),
    )
    run = replace(an_agent_run(root), history=history, continues=an_agent_run(root, 2).run)

    await traces.add(root, run, a_saying(run))

    assert (await traces.read(root, run.run)).run == run


async def test_a_run_that_is_on_shows_where_it_is(traces: Traces, root: Principal) -> None:
    cleared = replace(root, clearance=SECRET)
    run = await begun(traces, cleared)

    await traces.add_turn(cleared, a_turn(run))
    await traces.add_use(cleared, a_use(run))
    unreported = replace(a_turn(run, 2, label=SECRET), usage=Usage(input=1, reported=False))
    await traces.add_turn(cleared, unreported)

    now = (await traces.read(cleared, run.run)).run
    assert (now.turns, now.tool_uses, now.money) == (2, 1, Decimal("0.004"))
    assert now.usage == Usage(input=101, output=20, cached=10, reported=False)
    assert now.label == join([run.label, SECRET])


async def test_what_is_written_twice_is_there_once(
    traces: Traces, root: Principal, run: RunTrace
) -> None:
    first = await traces.add_turn(root, a_turn(run))
    await traces.add_use(root, a_use(run))

    await traces.add(root, replace(run, model="other:model"), a_saying(run, "Other."))
    again = await traces.add_turn(root, a_turn(run, text="Something else."))
    await traces.add_use(root, a_use(run, text="Something else."))

    whole = await traces.read(root, run.run)
    assert first == again == a_turn(run)
    assert whole.uses == (a_use(run),)
    assert whole.said == (a_saying(run),)
    assert (whole.run.model, whole.run.turns, whole.run.tool_uses) == (run.model, 1, 1)


async def test_what_cannot_be_written_is_marked_and_the_rest_is_kept(
    traces: Traces, root: Principal, run: RunTrace
) -> None:
    odd: JsonObject = {"a": [math.nan, {"b": -math.inf}], "c": 1.5, "d\ud800": "\ud801 \U0001f600"}

    kept = await traces.add_turn(root, a_turn(run, text="a\0b"))
    await traces.add_turn(root, a_turn(run, 2, calls=(ToolCall("c", "n", odd),)))
    await traces.add_use(root, replace(a_use(run), arguments=odd))

    whole = await traces.read(root, run.run)
    assert kept.text[0] + kept.text[-1] == "ab"
    assert whole.turns[1].calls[0].name == "n"
    assert whole.uses[0].arguments["c"] == 1.5


async def test_a_run_that_waits_goes_on_until_its_end_says_what_came_of_it(
    traces: Traces, root: Principal, run: RunTrace
) -> None:
    await traces.mark(root, run.run, AgentRunStatus.WAITING, label=TEAM)
    assert (await traces.read(root, run.run)).run.status is AgentRunStatus.WAITING
    await traces.mark(root, run.run, AgentRunStatus.RUNNING, label=TEAM)
    assert (await traces.read(root, run.run)).run == run

    await traces.end(root, ended(run))
    await traces.end(root, replace(ended(run), answer="Otherwise."))
    await traces.mark(root, run.run, AgentRunStatus.WAITING, label=TEAM)
    assert (await traces.read(root, run.run)).run == ended(run)


async def test_a_run_is_not_ended_over_words_that_its_answer_did_not_know_of(
    traces: Traces, root: Principal, run: RunTrace
) -> None:
    """But by whoever ends it whatever was said."""
    stopped = await begun(traces, root, 2)
    for each in (run, stopped):
        await traces.say(root, each.run, "And Bob.", LATER)

    too_early = await traces.end(root, ended(run), heard=1)
    now = (await traces.read(root, run.run)).run
    with_both = await traces.end(root, ended(run), heard=2)

    assert (too_early, now.status, now.ended_at) == (False, AgentRunStatus.RUNNING, None)
    assert with_both
    assert (await traces.read(root, run.run)).run.answer == "Done."
    assert await traces.end(root, ended(stopped, AgentRunStatus.STOPPED))
    assert (await traces.read(root, stopped.run)).run.status is AgentRunStatus.STOPPED


async def test_of_those_who_speak_at_once_each_is_heard(
    traces: Traces, root: Principal, run: RunTrace
) -> None:
    words = [f"Word {number}." for number in range(6)]

    async with asyncio.TaskGroup() as group:
        saying = [group.create_task(traces.say(root, run.run, each, LATER)) for each in words]
    said = [each.result() for each in saying]
    news = await traces.news(root, run.run, after=1)

    assert sorted(each.number for each in said) == [2, 3, 4, 5, 6, 7]
    assert sorted(each.text for each in news.said) == words
    assert {each.number: each.text for each in said} == {
        each.number: each.text for each in news.said
    }


async def test_who_speaks_as_it_ends_is_heard_or_told_that_it_is_over(
    traces: Traces, root: Principal
) -> None:
    for number in range(1, 6):
        run = await begun(traces, root, number)
        over, said = await asyncio.gather(
            traces.end(root, ended(run), heard=1),
            traces.say(root, run.run, "And Bob.", LATER),
            return_exceptions=True,
        )

        assert over is isinstance(said, AgentRunOver)


async def test_only_what_ended_without_an_answer_can_be_taken_up_again(
    traces: Traces, root: Principal
) -> None:
    again = {AgentRunStatus.FAILED, AgentRunStatus.EXHAUSTED, AgentRunStatus.STOPPED}
    for number, status in enumerate(each for each in AgentRunStatus if each.over):
        run = await begun(traces, root, number + 1)
        await traces.stop(root, run.run, LATER)
        await traces.end(root, ended(run, status))

        await traces.mark(root, run.run, AgentRunStatus.RUNNING, label=TEAM)
        assert (await traces.read(root, run.run)).run == ended(run, status)

        await traces.reopen(root, run.run)
        now = (await traces.read(root, run.run)).run
        assert await traces.stop_asked(root, run.run) is (status not in again)
        if status in again:
            assert (now.status, now.ended_at) == (AgentRunStatus.RUNNING, None)
            assert (now.error, now.error_code, now.answer) == (None, None, "")
        else:
            assert now == ended(run, status)


async def test_news_are_what_was_said_since_and_whether_to_stop(
    traces: Traces, root: Principal, run: RunTrace
) -> None:
    """Whoever writes a use down hears them as well."""
    nothing = await traces.news(root, run.run, after=1)
    with_a_use = await traces.add_use(root, a_use(run), after=1)
    second = await traces.say(root, run.run, "And Bob.", LATER)
    third = await traces.say(root, run.run, "And Cy.", LATER)
    before = await traces.news(root, run.run, after=1)
    await traces.stop(root, run.run, LATER)
    after = await traces.news(root, run.run, after=3)
    again = await traces.add_use(root, a_use(run), after=1)
    other = await traces.add_use(root, a_use(run, place=1), after=3)

    assert (nothing.said, nothing.stop) == (with_a_use.said, with_a_use.stop) == ((), False)
    assert (before.said, before.stop) == ((second, third), False)
    assert (after.said, after.stop) == (other.said, other.stop) == ((), True)
    assert (again.said, again.stop) == ((second, third), True)
    assert await traces.stop_asked(root, run.run)


async def test_nothing_reaches_a_run_that_is_over_or_is_not_there(
    traces: Traces, root: Principal, run: RunTrace
) -> None:
    await traces.end(root, ended(run))
    nowhere = RunId.mint(BEGINNING, SeededEntropy("nowhere"))

    for its, error in ((run.run, AgentRunOver), (nowhere, AgentRunNotFound)):
        with pytest.raises(error):
            await traces.say(root, its, "Wait!", LATER)
        with pytest.raises(error):
            await traces.stop(root, its, LATER)
    with pytest.raises(AgentRunNotFound):
        await traces.read(root, nowhere)
    assert not await traces.stop_asked(root, nowhere)


async def test_above_ones_clearance_nothing_is_seen_and_nothing_written(
    traces: Traces, root: Principal
) -> None:
    cleared, low = replace(root, clearance=SECRET), replace(root, clearance=TEAM)
    run = await begun(traces, cleared)
    await traces.add_turn(cleared, a_turn(run))
    with pytest.raises(REFUSED):
        await traces.add_turn(low, a_turn(run, 2, label=SECRET))
    assert len((await traces.read(low, run.run)).turns) == 1

    await traces.mark(cleared, run.run, AgentRunStatus.RUNNING, label=SECRET)
    await traces.say(cleared, run.run, "The figures are bad.", LATER)

    for refused in (traces.read(low, run.run), traces.say(low, run.run, "Hello?", LATER)):
        with pytest.raises(AgentRunNotFound):
            await refused
    assert "The figures are bad." not in str(await traces.news(low, run.run, after=0))


async def test_traces_go_with_their_space(doors: Doors, root: Principal, run: RunTrace) -> None:
    await doors.spaces.delete(root)

    with pytest.raises(AgentRunNotFound):
        await doors.traces.read(root, run.run)
    with pytest.raises(REFUSED):
        await begun(doors.traces, root)
