"""Running what was suggested is to accept it, running it otherwise to modify it; else one says."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from portico.guard.core.errors import NotPermitted
from portico.guard.core.principals import Scope
from portico.kernel.ids import InvalidId, RunId
from portico.kernel.json import JsonObject
from portico.kernel.label import Label, Level
from portico.learning.core.intents import Outcome
from portico.learning.core.past_plans import StoredPlan
from portico.learning.core.suggestions import NothingSuggested, StoredSuggestion, SuggestionNotFound
from portico.learning.suggestions import about
from portico.testing.gateway import MemoryResults
from portico.testing.guard import MemoryTaskContexts
from portico.testing.memory_store import BEGINNING, SeededEntropy
from portico.testing.secrets import ClosedVault
from portico.workflows.core.plan import InvalidPlan
from portico.workflows.core.saved import OneOfPlanAndName
from tests.learning.suggest.suggest_room import COPY, READ, SuggestRoom
from tests.workflows.plan_room import ANA

SECRET = Label(Level.CONFIDENTIAL)


@pytest.fixture
async def room() -> SuggestRoom:
    room = SuggestRoom()
    await room.learnt(2)
    return room


def kept(room: SuggestRoom) -> StoredSuggestion:
    return max(room.world.suggestions.values(), key=lambda each: each.made_at)


def past(room: SuggestRoom) -> StoredPlan:
    [plan] = room.world.past_plans.values()
    return plan


@pytest.mark.requirement("seed001:13")
async def test_to_run_it_is_to_accept_it_and_counts_for_what_it_leans_on(room: SuggestRoom) -> None:
    made = await room.suggested()

    run = await room.run_of(made)

    assert (await room.show(run)).status == "done"
    assert room.made["read /notes/b.md"] == room.made["write /notes/b.md"] == 1
    assert (kept(room).outcome, kept(room).run) == (Outcome.ACCEPTED, run)
    assert (past(room).accepted, past(room).rejected) == (1, 0)


async def test_a_run_that_a_suggestion_led_to_is_learnt_from(room: SuggestRoom) -> None:
    await room.run_of(await room.suggested())

    await room.lessons.flush()

    assert past(room).runs == 3


@pytest.mark.requirement("seed001:13")
async def test_ones_own_plan_with_the_same_tools_modifies_the_suggestion(room: SuggestRoom) -> None:
    await room.suggested()

    started = await room.begun(plan=COPY)

    assert (kept(room).outcome, kept(room).run) == (Outcome.MODIFIED, started.run.id)
    assert past(room).modified == 1


async def test_the_same_plan_written_out_is_the_suggestion_accepted(room: SuggestRoom) -> None:
    made = await room.suggested()

    await room.begun(plan=made.plan)

    assert kept(room).outcome is Outcome.ACCEPTED


async def test_another_plan_says_nothing_of_what_was_suggested(room: SuggestRoom) -> None:
    await room.suggested()
    other: JsonObject = {"id": "a", "tool": str(READ.ref), "arguments": {"path": "/a"}}

    await room.begun(plan={"steps": [other]})

    assert kept(room).outcome is None


async def test_a_plan_that_is_run_an_hour_later_says_nothing_of_it(room: SuggestRoom) -> None:
    await room.suggested()
    room.clock.turn(timedelta(minutes=61))

    await room.begun(plan=COPY)

    assert kept(room).outcome is None


async def test_a_suggestion_can_be_run_for_an_hour(room: SuggestRoom) -> None:
    made = await room.suggested()
    room.clock.turn(timedelta(minutes=61))

    with pytest.raises(SuggestionNotFound):
        await room.begun(suggestion=made.id)


async def test_it_is_nobody_elses(room: SuggestRoom) -> None:
    made = await room.suggested()

    with pytest.raises(SuggestionNotFound):
        await room.begun(by=ANA, suggestion=made.id)
    with pytest.raises(SuggestionNotFound):
        assert made.id is not None
        await room.feedback(ANA, made.id, Outcome.REJECTED)

    assert kept(room).outcome is None


async def test_the_same_key_starts_it_once_and_accepts_it_once(room: SuggestRoom) -> None:
    made = await room.suggested()

    one = await room.begun(suggestion=made.id, key="k")
    other = await room.begun(suggestion=made.id, key="k")

    assert (one.run.id, other.replayed) == (other.run.id, True)
    assert past(room).accepted == 1


async def test_a_plan_a_name_and_a_suggestion_are_one_too_many(room: SuggestRoom) -> None:
    made = await room.suggested()

    wishes: list[dict[str, Any]] = [
        {"suggestion": made.id, "plan": COPY},
        {"suggestion": made.id, "name": "a"},
        {},
    ]
    for wish in wishes:
        with pytest.raises(OneOfPlanAndName):
            await room.begun(**wish)


async def test_one_whose_tools_are_there_no_more_is_refused_as_any_plan(room: SuggestRoom) -> None:
    made = await room.suggested()
    unlisted = replace(await room.bot(), tools=(("files.read",),))

    with pytest.raises(InvalidPlan):
        await room.begun(by=unlisted, suggestion=made.id)


async def test_who_runs_it_in_another_task_takes_in_its_sources(room: SuggestRoom) -> None:
    for place, plan in [*room.world.past_plans.items()]:
        room.world.past_plans[place] = replace(plan, label=SECRET)
    cleared = replace(await room.bot(), clearance=SECRET)
    await MemoryTaskContexts(room.world).raise_taint(cleared, SECRET, untrusted=True)
    made = await room.suggested(by=cleared)
    elsewhere = replace(cleared, key="another")
    assert made.id is not None

    with pytest.raises(SuggestionNotFound):
        await room.run_workflow.take_suggestion(await room.bot(), made.id)
    await room.run_workflow.take_suggestion(elsewhere, made.id)

    task = await MemoryTaskContexts(room.world).get(elsewhere)
    assert (task.label, task.untrusted) == (SECRET, True)


@pytest.mark.requirement("seed001:13")
async def test_what_is_said_of_a_run_is_said_of_its_suggestion(room: SuggestRoom) -> None:
    run = await room.run_of(await room.suggested())
    bot = await room.bot()

    first = await room.feedback(bot, run, Outcome.REJECTED)
    again = await room.feedback(bot, run, Outcome.REJECTED)

    assert (first.id, again) == (again.id, kept(room))
    assert first.outcome is Outcome.REJECTED
    assert (past(room).accepted, past(room).rejected) == (0, 1)


async def test_who_says_the_same_of_many_suggestions_has_said_it_once(room: SuggestRoom) -> None:
    bot = await room.bot()
    for outcome in (Outcome.ACCEPTED, *[Outcome.REJECTED] * 5):
        made = await room.suggested()
        assert made.id is not None
        await room.feedback(bot, made.id, outcome)
    theirs = await room.suggested(by=ANA)
    assert theirs.id is not None
    await room.feedback(ANA, theirs.id, Outcome.REJECTED)

    assert (past(room).accepted, past(room).rejected) == (0, 2)


async def test_what_was_rejected_and_is_run_all_the_same_stays_rejected(room: SuggestRoom) -> None:
    made = await room.suggested()
    assert made.id is not None
    await room.feedback(await room.bot(), made.id, Outcome.REJECTED)

    await room.begun(suggestion=made.id)

    assert kept(room).outcome is Outcome.REJECTED


async def test_of_a_run_that_nothing_suggested_there_is_nothing_to_say(room: SuggestRoom) -> None:
    with pytest.raises(NothingSuggested):
        run = RunId.mint(BEGINNING, SeededEntropy("some run"))
        await room.feedback(await room.bot(), run, Outcome.ACCEPTED)


async def test_whoever_may_not_call_tools_says_nothing(room: SuggestRoom) -> None:
    made = await room.suggested()
    assert made.id is not None
    looking = replace(await room.bot(), scopes=frozenset({Scope.TOOLS_READ}))

    with pytest.raises(NotPermitted):
        await room.feedback(looking, made.id, Outcome.ACCEPTED)


async def test_where_nothing_can_be_sealed_it_is_shown_and_not_kept(room: SuggestRoom) -> None:
    closed = MemoryResults(room.world, ClosedVault())
    room.suggest_workflow = replace(room.suggest_workflow, results=closed)

    made = await room.suggested()

    assert (made.id, made.expires_at) == (None, None)
    assert made.plan is not None
    assert room.world.suggestions == {}


def test_what_it_is_about_is_told_by_its_first_letters() -> None:
    run = RunId.mint(BEGINNING, SeededEntropy("some run"))

    assert about(str(run)) == run
    with pytest.raises(InvalidId):
        about("nonsense")
