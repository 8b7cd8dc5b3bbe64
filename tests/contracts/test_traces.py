"""What every store of traces keeps to: each thing is written once, and nothing is taken back."""

import asyncio
import math
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from portico.agents.core.asking import Usage
from portico.agents.core.errors import AgentRunNotFound, AgentRunOver
from portico.agents.core.message import ModelSaid, ToolCall, ToolGave, UserSaid
from portico.agents.core.trace import AgentRunStatus, RunTrace
from portico.kernel.ids import ApprovalId, ContextId, RunId
from portico.kernel.json import JsonObject
from portico.kernel.label import Label, Level, join
from portico.kernel.principal import Principal
from portico.testing.agent_data import a_saying, a_turn, a_use, an_agent_run
from portico.testing.kernel import BEGINNING, SeededEntropy
from tests.contracts.doors import REFUSED, Doors

TEAM = Label(Level.TEAM)
SECRET = Label(Level.CONFIDENTIAL, frozenset({"finance"}))
LATER = BEGINNING + timedelta(hours=1)


async def begun(doors: Doors, caller: Principal, number: int = 1) -> RunTrace:
    run = an_agent_run(caller, number)
    await doors.traces.begin(caller, run, a_saying(run))
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


async def test_a_run_is_read_with_all_that_was_written_down_of_it(doors: Doors) -> None:
    root = await doors.founded("home")
    run = await begun(doors, root)
    turn = a_turn(run, calls=(ToolCall("c", "files-read", {"path": "/ä", "deep": [1, None]}),))
    turn = replace(
        turn, thought="hm", kept={"sig": "x\0", "n": [1.5]}, notes=("compacted",), first_piece=None
    )
    approval = ApprovalId.mint(BEGINNING, SeededEntropy("approval"))
    use = replace(a_use(run, code="tool_failed"), approval=approval, early=True)

    await doors.traces.add_turn(root, turn)
    await doors.traces.add_use(root, use)
    await doors.traces.add_use(root, a_use(run, place=1))
    second = await doors.traces.say(root, run.run, "And Bob.", LATER)

    whole = await doors.traces.read(root, run.run)
    assert whole.turns == (turn,)
    assert whole.uses == (use, a_use(run, place=1))
    assert whole.said == (a_saying(run), second)
    assert (second.number, second.by, second.text) == (2, root.id, "And Bob.")


async def test_a_run_is_found_by_its_task(doors: Doors) -> None:
    root, other = await doors.founded("home"), await doors.founded("acme")
    run, second = await begun(doors, root), await begun(doors, root, 2)

    assert await doors.traces.at(root, run.context) == run.run
    assert await doors.traces.at(root, second.context) == second.run
    assert await doors.traces.at(other, run.context) is None
    unknown = ContextId.mint(BEGINNING, SeededEntropy("no task"))
    made_of_a_text = ContextId.of_digest(b"a task")
    assert await doors.traces.at(root, unknown) is None
    assert await doors.traces.at(root, made_of_a_text) is None


async def test_what_was_said_before_is_kept_with_the_run(doors: Doors) -> None:
    root = await doors.founded("home")
    history = (
        UserSaid("Hello"),
        ModelSaid("I look", (ToolCall("c", "read", {}),), {"sig": 1}),
        ToolGave("c", "read", "nothing", failed=True),
    )
    run = replace(an_agent_run(root), history=history, continues=an_agent_run(root, 2).run)

    await doors.traces.begin(root, run, a_saying(run))

    assert (await doors.traces.read(root, run.run)).run == run


async def test_a_run_that_is_on_shows_where_it_is(doors: Doors) -> None:
    root = replace(await doors.founded("home"), clearance=SECRET)
    run = await begun(doors, root)

    await doors.traces.add_turn(root, a_turn(run))
    await doors.traces.add_use(root, a_use(run))
    unreported = replace(a_turn(run, 2, label=SECRET), usage=Usage(input=1, reported=False))
    await doors.traces.add_turn(root, unreported)

    now = (await doors.traces.read(root, run.run)).run
    assert (now.turns, now.tool_uses, now.money) == (2, 1, Decimal("0.004"))
    assert now.usage == Usage(input=101, output=20, cached=10, reported=False)
    assert now.label == join([run.label, SECRET])


async def test_what_is_written_twice_is_there_once(doors: Doors) -> None:
    root = await doors.founded("home")
    run = await begun(doors, root)
    first = await doors.traces.add_turn(root, a_turn(run))
    await doors.traces.add_use(root, a_use(run))

    await doors.traces.begin(root, replace(run, model="other:model"), a_saying(run, "Other."))
    again = await doors.traces.add_turn(root, a_turn(run, text="Something else."))
    await doors.traces.add_use(root, a_use(run, text="Something else."))

    whole = await doors.traces.read(root, run.run)
    assert first == again == a_turn(run)
    assert whole.uses == (a_use(run),)
    assert whole.said == (a_saying(run),)
    assert (whole.run.model, whole.run.turns, whole.run.tool_uses) == (run.model, 1, 1)


async def test_what_cannot_be_written_is_marked_and_the_rest_is_kept(doors: Doors) -> None:
    root = await doors.founded("home")
    run = await begun(doors, root)

    kept = await doors.traces.add_turn(root, a_turn(run, text="a\0b"))

    assert kept.text[0] + kept.text[-1] == "ab"


async def test_the_end_of_a_run_says_what_came_of_it(doors: Doors) -> None:
    root = await doors.founded("home")
    run = await begun(doors, root)

    await doors.traces.end(root, ended(run))
    await doors.traces.end(root, replace(ended(run), answer="Otherwise."))
    await doors.traces.mark(root, run.run, AgentRunStatus.WAITING, label=TEAM)

    assert (await doors.traces.read(root, run.run)).run == ended(run)


async def test_a_run_is_not_ended_over_words_that_its_answer_did_not_know_of(
    doors: Doors,
) -> None:
    root = await doors.founded("home")
    run = await begun(doors, root)
    await doors.traces.say(root, run.run, "And Bob.", LATER)

    too_early = await doors.traces.end(root, ended(run), heard=1)
    now = (await doors.traces.read(root, run.run)).run
    with_both = await doors.traces.end(root, ended(run), heard=2)

    assert (too_early, now.status, now.ended_at) == (False, AgentRunStatus.RUNNING, None)
    assert with_both
    assert (await doors.traces.read(root, run.run)).run.answer == "Done."


async def test_whoever_ends_it_whatever_was_said_does_so(doors: Doors) -> None:
    root = await doors.founded("home")
    run = await begun(doors, root)
    await doors.traces.say(root, run.run, "And Bob.", LATER)

    assert await doors.traces.end(root, ended(run, AgentRunStatus.STOPPED))
    assert (await doors.traces.read(root, run.run)).run.status is AgentRunStatus.STOPPED


async def test_of_those_who_speak_at_once_each_is_heard(doors: Doors) -> None:
    root = await doors.founded("home")
    run = await begun(doors, root)
    words = [f"Word {number}." for number in range(6)]

    async with asyncio.TaskGroup() as group:
        saying = [group.create_task(doors.traces.say(root, run.run, each, LATER)) for each in words]
    said = [each.result() for each in saying]
    news = await doors.traces.news(root, run.run, after=1)

    assert sorted(each.number for each in said) == [2, 3, 4, 5, 6, 7]
    assert sorted(each.text for each in news.said) == words
    assert {each.number: each.text for each in said} == {
        each.number: each.text for each in news.said
    }


async def test_who_speaks_as_it_ends_is_heard_or_told_that_it_is_over(doors: Doors) -> None:
    root = await doors.founded("home")
    for number in range(1, 6):
        run = await begun(doors, root, number)
        answers = await asyncio.gather(
            doors.traces.end(root, ended(run), heard=1),
            doors.traces.say(root, run.run, "And Bob.", LATER),
            return_exceptions=True,
        )
        over, said = answers

        assert over is isinstance(said, AgentRunOver)


async def test_a_run_that_waits_goes_on(doors: Doors) -> None:
    root = await doors.founded("home")
    run = await begun(doors, root)

    await doors.traces.mark(root, run.run, AgentRunStatus.WAITING, label=TEAM)
    waiting = (await doors.traces.read(root, run.run)).run.status
    await doors.traces.mark(root, run.run, AgentRunStatus.RUNNING, label=TEAM)

    assert waiting is AgentRunStatus.WAITING
    assert (await doors.traces.read(root, run.run)).run == run


@pytest.mark.parametrize(
    "status", [AgentRunStatus.FAILED, AgentRunStatus.EXHAUSTED, AgentRunStatus.STOPPED]
)
async def test_a_run_that_ended_without_an_answer_can_be_taken_up_again(
    doors: Doors, status: AgentRunStatus
) -> None:
    root = await doors.founded("home")
    run = await begun(doors, root)
    await doors.traces.stop(root, run.run, LATER)
    await doors.traces.end(root, ended(run, status))

    await doors.traces.reopen(root, run.run)

    now = (await doors.traces.read(root, run.run)).run
    assert (now.status, now.ended_at, now.error, now.error_code, now.answer) == (
        AgentRunStatus.RUNNING,
        None,
        None,
        None,
        "",
    )
    assert not await doors.traces.stop_asked(root, run.run)


@pytest.mark.parametrize("status", [AgentRunStatus.COMPLETED, AgentRunStatus.CANCELLED])
async def test_a_run_that_is_done_stays_so(doors: Doors, status: AgentRunStatus) -> None:
    root = await doors.founded("home")
    run = await begun(doors, root)
    await doors.traces.end(root, ended(run, status))

    await doors.traces.reopen(root, run.run)

    assert (await doors.traces.read(root, run.run)).run == ended(run, status)


@pytest.mark.parametrize("status", [status for status in AgentRunStatus if status.over])
async def test_one_that_is_over_does_not_go_on_by_itself(
    doors: Doors, status: AgentRunStatus
) -> None:
    root = await doors.founded("home")
    run = await begun(doors, root)
    await doors.traces.end(root, ended(run, status))

    await doors.traces.mark(root, run.run, AgentRunStatus.RUNNING, label=TEAM)

    assert (await doors.traces.read(root, run.run)).run == ended(run, status)


async def test_numbers_that_are_none_are_written_as_texts(doors: Doors) -> None:
    root = await doors.founded("home")
    run = await begun(doors, root)
    odd: JsonObject = {"a": [math.nan, {"b": -math.inf}], "c": 1.5, "d\ud800": "\ud801 \U0001f600"}

    await doors.traces.add_turn(root, a_turn(run, calls=(ToolCall("c", "n", odd),)))
    await doors.traces.add_use(root, replace(a_use(run), arguments=odd))

    whole = await doors.traces.read(root, run.run)
    assert whole.turns[0].calls[0].name == "n"
    assert whole.uses[0].arguments["c"] == 1.5


async def test_news_are_what_was_said_since_and_whether_to_stop(doors: Doors) -> None:
    root = await doors.founded("home")
    run = await begun(doors, root)
    nothing = await doors.traces.news(root, run.run, after=1)
    second = await doors.traces.say(root, run.run, "And Bob.", LATER)
    third = await doors.traces.say(root, run.run, "And Cy.", LATER)

    before = await doors.traces.news(root, run.run, after=1)
    await doors.traces.stop(root, run.run, LATER)
    after = await doors.traces.news(root, run.run, after=3)

    assert (nothing.said, nothing.stop) == ((), False)
    assert (before.said, before.stop) == ((second, third), False)
    assert (after.said, after.stop) == ((), True)
    assert await doors.traces.stop_asked(root, run.run)


async def test_whoever_writes_a_use_down_hears_the_news(doors: Doors) -> None:
    root = await doors.founded("home")
    run = await begun(doors, root)
    nothing = await doors.traces.add_use(root, a_use(run), after=1)
    second = await doors.traces.say(root, run.run, "And Bob.", LATER)
    await doors.traces.stop(root, run.run, LATER)

    again = await doors.traces.add_use(root, a_use(run), after=1)
    other = await doors.traces.add_use(root, a_use(run, place=1), after=2)

    assert (nothing.said, nothing.stop) == ((), False)
    assert (again.said, again.stop) == ((second,), True)
    assert (other.said, other.stop) == ((), True)


async def test_nothing_reaches_a_run_that_is_over_or_is_not_there(doors: Doors) -> None:
    root = await doors.founded("home")
    run = await begun(doors, root)
    await doors.traces.end(root, ended(run))
    nowhere = RunId.mint(BEGINNING, SeededEntropy("nowhere"))

    with pytest.raises(AgentRunOver):
        await doors.traces.say(root, run.run, "Wait!", LATER)
    with pytest.raises(AgentRunOver):
        await doors.traces.stop(root, run.run, LATER)
    with pytest.raises(AgentRunNotFound):
        await doors.traces.say(root, nowhere, "Hello?", LATER)
    with pytest.raises(AgentRunNotFound):
        await doors.traces.stop(root, nowhere, LATER)
    with pytest.raises(AgentRunNotFound):
        await doors.traces.read(root, nowhere)
    assert not await doors.traces.stop_asked(root, nowhere)


async def test_above_ones_clearance_nothing_is_seen_and_nothing_written(doors: Doors) -> None:
    root = replace(await doors.founded("home"), clearance=SECRET)
    low = replace(root, clearance=TEAM)
    run = await begun(doors, root)
    await doors.traces.add_turn(root, a_turn(run))
    with pytest.raises(REFUSED):
        await doors.traces.add_turn(low, a_turn(run, 2, label=SECRET))
    seen = await doors.traces.read(low, run.run)

    await doors.traces.mark(root, run.run, AgentRunStatus.RUNNING, label=SECRET)

    assert len(seen.turns) == 1
    with pytest.raises(AgentRunNotFound):
        await doors.traces.read(low, run.run)
    with pytest.raises(AgentRunNotFound):
        await doors.traces.say(low, run.run, "Hello?", LATER)


async def test_what_is_said_to_a_secret_run_is_as_secret(doors: Doors) -> None:
    root = replace(await doors.founded("home"), clearance=SECRET)
    run = replace(an_agent_run(root), label=SECRET)
    await doors.traces.begin(root, run, a_saying(run))
    await doors.traces.say(root, run.run, "The figures are bad.", LATER)

    assert (await doors.traces.news(replace(root, clearance=TEAM), run.run, after=0)).said == ()


async def test_runs_of_another_space_are_not_there(doors: Doors) -> None:
    root, other = await doors.founded("home"), await doors.founded("other")
    run = await begun(doors, root)

    with pytest.raises(AgentRunNotFound):
        await doors.traces.read(other, run.run)


async def test_traces_go_with_their_space(doors: Doors) -> None:
    root = await doors.founded("home")
    run = await begun(doors, root)

    await doors.spaces.delete(root)

    with pytest.raises(AgentRunNotFound):
        await doors.traces.read(root, run.run)
    with pytest.raises(REFUSED):
        await begun(doors, root)
